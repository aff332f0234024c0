-- After how many failed tries in a row an event is given up; null for as many as the schedule has. A test is tried once: that
-- was told by a million failures before there was this. What has ended is not tried again, or by the schedule.
ALTER TABLE events ADD COLUMN tries_max INTEGER;
UPDATE events SET tries_max = 1, failures = failures - 1048576
    WHERE kind = 5 /* webhook.test */ AND state = 0 /* live */ AND failures >= 1048576;
