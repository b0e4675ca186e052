"""Signatures of classes whose parameters and defaults the C++ library knows."""
import sys


class Signature:
    """A class attribute: what inspect.signature() and help() show for a class with a row in src/rows.h.

    owner has _parameters, [(name, type[, default])], and _options_by_name. Made when it is asked for, as only tools do.
    """

    def __init__(self, owner, positional=1):
        self._owner, self._init, self._positional = owner, owner.__init__, positional

    def __get__(self, instance, cls):
        inspect = sys.modules.get("inspect")  # who asks for a signature has imported it
        # A class with a constructor of its own has another signature.
        if inspect is None or instance is not None or cls.__init__ is not self._init:
            raise AttributeError("__signature__")
        Parameter = inspect.Parameter
        parameters = []
        for i, (name, kind, *default) in enumerate(self._owner._parameters):
            by_name = self._owner._options_by_name and i >= self._positional
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD,
                                        annotation=_TYPES.get(kind, Parameter.empty),
                                        default=default[0] if default else Parameter.empty))
        return inspect.Signature(parameters)


_TYPES = {"int": int, "float": float, "bool": bool}
