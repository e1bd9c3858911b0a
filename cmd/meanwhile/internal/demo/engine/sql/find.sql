select version, source from documents where id = ?
