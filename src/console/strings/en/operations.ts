export default {
  title: 'Service status',
  allWell: 'Everything works.',
  processes_one: '{{count}} process',
  processes_other: '{{count}} processes',
  since: 'Since',
  act: 'Open',
  blocked: 'Refused in the last 24 hours',
  nobodyBlocked: 'No calls were refused for lack of credits, access or channels.',
  refused_one: '{{count}} call',
  refused_other: '{{count}} calls',
  reasons: {
    quota_not_enough: 'Not enough credits',
    model_not_allowed: 'Model not allowed',
    upstream_unavailable: 'No channel available',
  },
  incidents: {
    vendor_down: {
      check: 'Vendors answer',
      name: 'A vendor does not answer',
      advice:
        'More than half of its calls failed within ten minutes. Give its models to another channel; it is used again by itself.',
    },
    vendor_slow: {
      check: 'Vendors are fast',
      name: 'A vendor is slow',
      advice: 'A tenth of its submits and polls take more than five seconds. Lower the priority of its channels.',
    },
    key_revoked: {
      check: 'Vendor keys work',
      name: 'A vendor refuses a key',
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
      advice: 'Statements take over 100 ms on average, or wait for a connection. Look for locks and for a busy disk.',
    },
    database_gone: {
      check: 'Database answers',
      name: 'The database does not answer',
      advice: 'Requests that need it are answered 503. Bring it back; the service needs no restart.',
    },
    disk_nearly_full: {
      check: 'Disk has space',
      name: 'A disk is nearly full',
      advice: 'Less than a tenth is free. Free or add space; never delete -wal, -shm or the journal.',
    },
    mail_server_gone: {
      check: 'Mail server answers',
      name: 'The mail server does not answer',
      advice: 'New mailboxes and passwords wait until it is back.',
    },
    replica_frozen: {
      check: 'Processes run',
      name: 'A process is silent',
      advice: 'It ended without stopping, or stands still. Restart it; it may be killed at any moment without loss.',
    },
    backlog_grows: {
      check: 'Videos are checked in time',
      name: 'Videos are not checked in time',
      advice: 'Finished videos are not settled. Mend slow vendors or the database first; else add a process.',
    },
    ledger_mismatch: {
      check: 'Ledger adds up',
      name: 'The ledger does not add up',
      advice: 'The last audit found a difference. Back up first, then open the check of the ledger.',
    },
    webhook_target_dead: {
      check: 'Webhooks are delivered',
      name: 'Webhooks are not delivered',
      advice:
        'Deliveries have been overdue all the time. Tell the owner of the endpoint; they are tried for three days.',
    },
  },
};
