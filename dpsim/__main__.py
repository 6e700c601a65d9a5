"""The command `python -m dpsim`."""

from dpsim.cli import main

if __name__ == "__main__":
    main(prog_name="dpsim")
