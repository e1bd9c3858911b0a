select id, source from documents order by n limit ? offset ?
