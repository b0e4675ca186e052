// Has no code: its target compiles the headers that all programs of tests share.
