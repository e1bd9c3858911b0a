-- One adds up at a time: what another adds to the same rows would be lost.
lock table meanwhile.past in share row exclusive mode
