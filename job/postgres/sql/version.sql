select version from meanwhile.version
