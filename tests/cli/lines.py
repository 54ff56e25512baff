"""What the command line said."""


def error_line(done):
    """The one line of the error; no traceback, nothing before or after it but a launcher's own words."""
    text = done.stderr
    assert "Traceback" not in text, text
    lines = [line for line in text.splitlines() if "error: " in line]
    assert len(lines) == 1, text
    return lines[0]
