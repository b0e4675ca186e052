"""Files that are replaced as a whole or stay as they were."""
import os
import tempfile


def check(path):
    """Throws OSError if the file cannot be written. Leaves it as it is."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=path.parent).close()


def replace(path, text):
    """Writes a new file beside the old one, then puts it in the old one's place."""
    if path.is_char_device():  # such as /dev/null
        path.write_text(text)
        return
    path = path.resolve()
    file, new = tempfile.mkstemp(dir=path.parent, prefix=".asyncgrad-")
    try:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(new, path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~umask())
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
