-- Only one process adds up at a time: otherwise the changes of another one to the same rows would be lost.
lock table meanwhile.past in share row exclusive mode
