// Where the public headers are compiled for the programs of the pages.
