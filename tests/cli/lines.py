"""The error line of a run of the command line."""


def error_line(done):
    """Return the only error line on standard error, which must not hold a traceback."""
    text = done.stderr
    assert "Traceback" not in text, text
    lines = [line for line in text.splitlines() if "error: " in line]
    assert len(lines) == 1, text
    return lines[0]
