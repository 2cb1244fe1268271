"""Begin a run with what another one has learned, and keep of it what is to stay."""
