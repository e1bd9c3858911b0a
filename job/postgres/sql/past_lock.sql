-- Only one process adds up at a time: otherwise what another one adds to the same rows would be lost.
lock table meanwhile.past in share row exclusive mode
