-- Appends a batch after the last entry, if what its node applied is what is stored, and gives what the node has not
-- applied yet. Runs as a statement of its own in READ COMMITTED, so that each query in it sees all that was committed
-- before the lock was granted.
--
-- The first row says what became of it: 0 stored, with position, time, epoch and the name of the entry before; and where
-- nothing was stored: 1 no head; 2 another space, in `before`; 3 the head is lower, in `position`; 4 another entry stands
-- there, in `before`; 5 it is no longer kept, the first position that is in `position`; 6 another run of the server, in
-- `position`. Rows of 7 are entries that the node has not applied, at most 64 together with its own.
CREATE OR REPLACE FUNCTION append_1(
    of_space bytea, of_run bigint, order_lock bigint, applied bigint, applied_name bytea,
    new_name bytea, new_body bytea, tell boolean, listening_lock bigint, channel text, note text, clock bigint
) RETURNS TABLE (
    what integer, "position" bigint, at bigint, epoch bigint, before bytea, body bytea, told boolean
) LANGUAGE plpgsql VOLATILE AS $append$
#variable_conflict use_column
DECLARE
    run bigint := (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
    top record;
    last_position bigint;
    last_name bytea;
    last_at bigint;
    found_name bytea;
BEGIN
    PERFORM pg_advisory_xact_lock(order_lock);
    told := false;
    IF run <> of_run THEN
        what := 6; position := run;
        RETURN NEXT; RETURN;
    END IF;
    SELECT h.* INTO top FROM head h;
    IF NOT FOUND THEN
        what := 1;
        RETURN NEXT; RETURN;
    END IF;
    IF top.space <> of_space THEN
        what := 2; before := top.space;
        RETURN NEXT; RETURN;
    END IF;
    SELECT e.position, e.name, e.at INTO last_position, last_name, last_at
        FROM entries e ORDER BY e.position DESC LIMIT 1;
    IF NOT FOUND THEN
        last_position := top.base_position; last_name := top.base_name; last_at := top.base_at;
    END IF;
    IF applied > last_position THEN
        what := 3; position := last_position;
        RETURN NEXT; RETURN;
    END IF;
    IF applied = last_position THEN
        found_name := last_name;
    ELSIF applied < top.base_position THEN
        what := 5; position := top.base_position + 1;
        RETURN NEXT; RETURN;
    ELSIF applied = top.base_position THEN
        found_name := top.base_name;
    ELSE
        SELECT e.name INTO found_name FROM entries e WHERE e.position = applied;
    END IF;
    IF found_name IS DISTINCT FROM applied_name THEN
        what := 4; before := found_name;
        RETURN NEXT; RETURN;
    END IF;
    -- Read here, where nobody else can come in between: it never goes back along the journal.
    at := greatest(last_at, coalesce(clock, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
    what := 0; position := last_position + 1; epoch := top.epoch; before := last_name;
    INSERT INTO entries VALUES (last_position + 1, at, top.epoch, new_name, last_name, new_body);
    -- Who listens holds this lock, shared: where nobody does, it is free. NOTIFY costs every commit of the server.
    IF tell AND NOT pg_try_advisory_xact_lock(listening_lock) THEN
        PERFORM pg_notify(channel, note);
        told := true;
    END IF;
    RETURN NEXT;
    IF applied < last_position THEN
        RETURN QUERY SELECT 7, e.position, e.at, e.epoch, e.before, e.body, false
            FROM entries e WHERE e.position > applied AND e.position <= last_position
            ORDER BY e.position LIMIT 64;
    END IF;
END
$append$;
