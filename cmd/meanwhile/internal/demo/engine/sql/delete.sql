delete from documents where id = ? returning n, version
