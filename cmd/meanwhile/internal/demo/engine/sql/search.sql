select d.id, d.source, -bm25(words, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) as score,
	snippet(words, 0, '<em>', '</em>', '…', 24), snippet(words, 1, '<em>', '</em>', '…', 24),
	snippet(words, 2, '<em>', '</em>', '…', 24), snippet(words, 3, '<em>', '</em>', '…', 24),
	snippet(words, 4, '<em>', '</em>', '…', 24), snippet(words, 5, '<em>', '</em>', '…', 24),
	snippet(words, 6, '<em>', '</em>', '…', 24), snippet(words, 7, '<em>', '</em>', '…', 24)
from words join documents d on d.n = words.rowid
where words match ?1
order by score desc, d.id
limit ?10 offset ?11
