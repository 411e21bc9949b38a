export default {
  title: 'Service status',
  allWell: 'Everything works.',
  processes_one: '{{count}} process',
  processes_other: '{{count}} processes',
  since: 'Started',
  act: 'Open',
  blocked: 'Rejected in the last 24 hours',
  nobodyBlocked: 'No rejected calls.',
  refused_one: '{{count}} call',
  refused_other: '{{count}} calls',
  reasons: {
    quota_not_enough: 'Not enough credits',
    model_not_allowed: 'Model not allowed',
    upstream_unavailable: 'No channel available',
  },
  incidents: {
    vendor_down: {
      check: 'Vendors respond',
      name: 'A vendor does not respond',
      advice:
        'More than half of its calls failed within ten minutes. Add its models to another channel; it is used again automatically once it recovers.',
    },
    vendor_slow: {
      check: 'Vendors are fast',
      name: 'A vendor is slow',
      advice: 'A tenth of its submits and polls take more than five seconds. Lower the priority of its channels.',
    },
    key_revoked: {
      check: 'Vendor keys work',
      name: 'A vendor rejects a key',
      advice: 'The credentials of this channel are wrong, revoked or expired. Store new ones, then press Test.',
    },
    no_balance: {
      check: 'Vendor accounts are funded',
      name: 'A vendor account has no balance',
      advice: 'Top up the account at the vendor, then press Test on the channel.',
    },
    database_slow: {
      check: 'Database is fast',
      name: 'The database is slow',
      advice: 'Statements take over 100 ms on average, or wait for a connection. Check for locks and a busy disk.',
    },
    database_gone: {
      check: 'Database responds',
      name: 'The database does not respond',
      advice: 'Requests that need it fail with 503. Restore it; the service needs no restart.',
    },
    disk_nearly_full: {
      check: 'Disk has space',
      name: 'A disk is nearly full',
      advice: 'Less than a tenth is free. Free or add space; never delete -wal, -shm or the journal.',
    },
    mail_server_gone: {
      check: 'Mail server responds',
      name: 'The mail server does not respond',
      advice: 'New mailboxes and passwords take effect when it is back.',
    },
    replica_frozen: {
      check: 'Processes run',
      name: 'A process does not respond',
      advice: 'It crashed or hangs. Restart it; nothing is lost even if it is killed.',
    },
    backlog_grows: {
      check: 'Videos are checked in time',
      name: 'Videos are not checked in time',
      advice: 'Finished videos are not settled in time. Fix a slow vendor or database first; otherwise add a process.',
    },
    ledger_mismatch: {
      check: 'Ledger adds up',
      name: 'The ledger does not add up',
      advice: 'The last audit found a difference. Back up first, then open the check of the ledger.',
    },
    billing_difference: {
      check: 'Vendor billing matches',
      name: 'Vendor billing doesn’t match',
      advice: 'Its account lost units that no video explains, or too few. Look at the readings under Reconciliation.',
    },
    webhook_target_dead: {
      check: 'Webhooks are delivered',
      name: 'Webhooks are not delivered',
      advice: 'Deliveries are overdue. Tell the owner of the endpoint; they are retried for three days.',
    },
  },
};
