/** What `npm run bench` runs, in this order. All of it takes about twenty minutes on two quiet cores. */
export const BENCHES = [
  'cli-start',
  'console-page-load',
  'video-submit',
  'task-polling',
  'table-growth',
  'lists',
  'image-upload-memory',
  'chat',
  'chat-databases',
  'postgres-costs',
  'scale-model',
] as const;

/** Further scripts with a measurement of their own, and why they run alone. */
export const ALONE: Readonly<Record<string, string>> = {
  'adapter-cpu': 'prints a line for each vendor',
  backup: 'needs the databases sqlite-to-postgres made',
  'chat-replicas': 'says something with more cores than processes only',
  'chat-byte-pass': 'compares two dialects',
  'chat-conversion': 'prints a line for each pair',
  'chat-streams': 'prints a table with its peers',
  'content-download': 'prints a table with nginx',
  'database-drivers': 'compares settings of the drivers',
  'device-auth': 'prints a table with its peers',
  import: 'measures one import',
  'mail-login-storm': 'needs root and Dovecot',
  notifications: 'makes a million accounts',
  outbound: 'compares HTTP clients',
  'request-log': 'measures one table',
  'polling-processes': 'takes ten minutes and eight processes',
  soak: 'takes an hour',
  'sqlite-to-postgres': 'makes databases of a gigabyte',
  traces: 'compares runs with and without traces',
  'vendor-polling': 'takes three minutes',
  'video-copies': 'needs --expose-gc',
  webhooks: 'measures deliveries',
};
