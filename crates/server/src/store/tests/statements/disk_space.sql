-- disk_space::FREE_PAGES, SQLite
SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size;

