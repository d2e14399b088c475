-- Appends a batch after the last entry, if what its node applied is what is stored, and gives what the node has not
-- applied yet. Runs as a statement of its own in READ COMMITTED, so that each query in it sees all that was committed
-- before the lock was granted.
--
-- The first row says what became of it: 0 stored, with position, time, epoch and the name of the entry before; and where
-- nothing was stored: 1 no head, or the mark of an emptied store in its place; 2 another space, in `before`; 3 the head is lower, in `position`; 4 another entry stands
-- there, in `before`; 5 it is no longer kept, the first position that is in `position`; 6 another run of the server, in
-- `position`; 8 the server does not force commits to its disk, and `on_disk` asks for that. Rows of 7 are entries that the node has
-- not applied, at most 64 together with its own.
--
-- With `late` its commit does not wait for the disk, so that the next one has the lock before: whoever called it then waits
-- in another transaction for its own commit and all before it, and so does whoever reads entries. What nobody waited for, and
-- a crash takes, nobody has seen.
CREATE OR REPLACE FUNCTION append_3(
    of_space bytea, of_run bigint, order_lock bigint, applied bigint, applied_name bytea,
    new_name bytea, new_body bytea, tell boolean, listening_lock bigint, channel text, note text, clock bigint,
    late boolean, on_disk boolean
) RETURNS TABLE (
    what integer, "position" bigint, at bigint, epoch bigint, before bytea, body bytea, told boolean
) LANGUAGE plpgsql VOLATILE AS $append$
#variable_conflict use_column
DECLARE
    run bigint := (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
    top record;
    setting text;
BEGIN
    PERFORM pg_advisory_xact_lock(order_lock);
    told := false;
    IF run <> of_run THEN
        what := 6; position := run;
        RETURN NEXT; RETURN;
    END IF;
    IF on_disk AND current_setting('fsync') <> 'on' THEN
        what := 8;
        RETURN NEXT; RETURN;
    END IF;
    -- The head, the last entry, and the one that the node applied last.
    SELECT h.space, h.epoch, h.base_position, h.base_name,
            coalesce(l.position, h.base_position) AS position,
            CASE WHEN l.position IS NULL THEN h.base_name ELSE l.name END AS name,
            CASE WHEN l.position IS NULL THEN h.base_at ELSE l.at END AS at,
            e.name AS found_name
        INTO top
        FROM head h
        LEFT JOIN LATERAL (
            SELECT i.position, i.name, i.at FROM entries i ORDER BY i.position DESC LIMIT 1
        ) l ON true
        LEFT JOIN entries e ON e.position = applied;
    IF NOT FOUND OR top.space IS NULL THEN
        what := 1;
        RETURN NEXT; RETURN;
    END IF;
    IF top.space <> of_space THEN
        what := 2; before := top.space;
        RETURN NEXT; RETURN;
    END IF;
    IF applied > top.position THEN
        what := 3; position := top.position;
        RETURN NEXT; RETURN;
    END IF;
    IF applied < top.base_position THEN
        what := 5; position := top.base_position + 1;
        RETURN NEXT; RETURN;
    END IF;
    IF applied = top.base_position THEN
        top.found_name := top.base_name;
    END IF;
    IF top.found_name IS DISTINCT FROM applied_name THEN
        what := 4; before := top.found_name;
        RETURN NEXT; RETURN;
    END IF;
    -- Read here, where nobody else can come in between: it never goes back along the journal.
    at := greatest(top.at, coalesce(clock, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
    what := 0; position := top.position + 1; epoch := top.epoch; before := top.name;
    IF late THEN
        setting := set_config('synchronous_commit', 'off', true);
    END IF;
    INSERT INTO entries VALUES (top.position + 1, at, top.epoch, new_name, top.name, new_body);
    -- Who listens holds this lock, shared: where nobody does, it is free. NOTIFY costs every commit of the server.
    IF tell AND NOT pg_try_advisory_xact_lock(listening_lock) THEN
        PERFORM pg_notify(channel, note);
        told := true;
    END IF;
    RETURN NEXT;
    IF applied < top.position THEN
        RETURN QUERY SELECT 7, e.position, e.at, e.epoch, e.before, e.body, false
            FROM entries e WHERE e.position > applied AND e.position <= top.position
            ORDER BY e.position LIMIT 64;
    END IF;
END
$append$;
