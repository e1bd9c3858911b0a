create table documents (
	n       integer primary key,
	id      text not null unique,
	version integer not null,
	source  text not null -- as it came, JSON
);

-- The text of the searchable fields; rowid is documents.n.
create virtual table words using fts5(c1, c2, c3, c4, c5, c6, c7, c8, tokenize = 'porter unicode61');
