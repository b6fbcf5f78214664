"""The one error type that users see as a sentence instead of a traceback."""


class ScapoError(Exception):
    """Bad input or an impossible request.

    The message is one or more full sentences that name the file, the row or the setting, what was found
    there, and what to do about it. The command line prints it without a traceback and exits with status 2.
    """
