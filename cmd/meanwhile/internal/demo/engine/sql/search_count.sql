select count(*) from words where words match ?
