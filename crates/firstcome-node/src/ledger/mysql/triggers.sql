CREATE TRIGGER IF NOT EXISTS ~results_are_never_changed BEFORE UPDATE ON ~results
FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'results are never changed';

CREATE TRIGGER IF NOT EXISTS ~results_are_never_deleted BEFORE DELETE ON ~results
FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'results are never deleted';

CREATE TRIGGER IF NOT EXISTS ~details_are_never_changed BEFORE UPDATE ON ~details
FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'results are never changed';

CREATE TRIGGER IF NOT EXISTS ~details_are_never_deleted BEFORE DELETE ON ~details
FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'results are never deleted'
