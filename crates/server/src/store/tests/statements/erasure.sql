-- erasure::COUNT_PAGES, SQLite
SELECT page_count, (SELECT auto_vacuum FROM pragma_auto_vacuum) AS auto_vacuum FROM pragma_page_count;

-- erasure::OTHERS, SQLite
SELECT data_version FROM pragma_data_version;

-- erasure::OVERWRITE, SQLite
UPDATE sqlite_dbpage SET data = ?1 WHERE pgno = ?2;

-- erasure::PAGE, SQLite
SELECT pgno, data FROM sqlite_dbpage WHERE pgno = ?1;

