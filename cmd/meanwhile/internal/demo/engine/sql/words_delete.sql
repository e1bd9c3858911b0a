delete from words where rowid = ?
