"""The lab: a page to watch, break and time multiplications on, and the server of this machine behind it.

Nothing is imported here: the page's data need no server, and the server's packages are the extra `lab`.
"""
