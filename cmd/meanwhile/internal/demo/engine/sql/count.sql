select count(*) from documents
