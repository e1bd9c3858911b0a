insert into words (rowid, c1, c2, c3, c4, c5, c6, c7, c8) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
