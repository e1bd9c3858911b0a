select version, readable_from from meanwhile.version
