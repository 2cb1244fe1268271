"""The processes of a run: alone, or several that talk to each other; how they are started and watched."""
