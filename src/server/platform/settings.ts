export interface Setting {
  /** The text used when the environment has none; undefined: none is needed, or it is required in some cases. */
  readonly default?: string;
  readonly meaning: string;
  /** Masked in every output. */
  readonly secret?: boolean;
}

/** Every setting there is, in the order people read them. docs/config.md and .env.example are made from this. */
export const SETTINGS = {
  HOST: { default: '127.0.0.1', meaning: 'Address to listen on.' },
  PORT: { default: '3000', meaning: 'Port to listen on; 0 takes a free one.' },
  BASE_URL: {
    meaning: 'The address people use, without a path; every link is made from it. Default: http://HOST:PORT.',
  },
  ALLOW_HTTP: { default: '0', meaning: '1 permits a plain http BASE_URL off this machine.' },
  DATABASE_URL: { default: 'sqlite:./data/reelgate.db', meaning: 'sqlite:PATH, or postgres://… at scale.' },
  DATABASE_POOL: { default: '10', meaning: 'Connections to PostgreSQL per process.' },
  MASTER_KEY: {
    secret: true,
    meaning:
      '32 bytes in base64 that encrypt what must be shown again in clear. Made and kept beside a SQLite database when absent; required with PostgreSQL.',
  },
  MASTER_KEY_PREVIOUS: {
    secret: true,
    meaning:
      'Older or newer keys, separated by commas, that open too while MASTER_KEY is changed (docs/operations.md).',
  },
  ADMIN_USERNAME: { default: 'root', meaning: 'Name of the first account; first start only.' },
  ADMIN_PASSWORD: {
    secret: true,
    meaning: 'Its password; first start only. A random one is printed once when absent.',
  },
  REGISTRATION: { default: 'open', meaning: 'open or closed: whether people may make their own accounts.' },
  NEW_USER_QUOTA: { default: '0', meaning: 'Quota a new account starts with.' },
  QUOTA_PER_UNIT: { default: '500000', meaning: 'Quota that equals 1 unit of display currency.' },
  LOW_QUOTA: {
    default: '500000',
    meaning: 'An account is told when its wallet falls below so much quota; 0: never.',
  },
  VALKEY_URL: {
    secret: true,
    meaning: 'redis://… of a Valkey or Redis for rate limits and revocation news over several replicas; optional.',
  },
  LOG_LEVEL: { default: 'info', meaning: 'silent, fatal, error, warn, info, debug or trace.' },
  DEFAULT_LOCALE: { default: 'en', meaning: 'en or zh-CN, where Accept-Language does not decide.' },
  TRUST_PROXY: { meaning: 'Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For is believed.' },
  API_USER_HEADER: {
    default: 'Service-Api-User',
    meaning: 'Name of the header that carries the user id beside a management credential.',
  },
  METRICS_PORT: { meaning: 'Serves /metrics on a port of its own on HOST.' },
  METRICS_TOKEN: { secret: true, meaning: 'Serves /metrics on the main port to callers with this bearer token.' },
  SANDBOX: {
    default: '0',
    meaning: '1 starts simulated vendors on loopback with a channel for each. Never in production.',
  },
  DEVICE_CODE_TTL_SECONDS: { default: '600', meaning: 'How long a device code waits for approval.' },
  DEVICE_CODES_PER_ADDRESS: { default: '300', meaning: 'Device codes one address may ask for in ten minutes.' },
  DEVICE_CODES_PER_CLIENT: {
    default: '100000',
    meaning: 'Device codes one client may ask for in ten minutes, over all addresses.',
  },
  REFRESH_REUSE_WINDOW_SECONDS: {
    default: '60',
    meaning: 'A refresh token used again within this time fails without ending the sign-in.',
  },
  AMBIGUOUS_SUBMIT_TTL_SECONDS: {
    default: '600',
    meaning: 'A submit whose answer was lost is refunded after this time.',
  },
  SYNC_PERIOD_SECONDS: { default: '15', meaning: 'How often an unfinished task is looked up at its vendor.' },
  CHAT_FIRST_BYTE_SECONDS: {
    default: '300',
    meaning: 'Longest wait for the first byte of a model call; an answer that is not streamed comes as a whole.',
  },
  CHAT_IDLE_SECONDS: { default: '120', meaning: 'Longest silence inside the answer of a model call.' },
  CHAT_TOTAL_SECONDS: {
    default: '1800',
    meaning: 'Longest model call; what a crash left open is given back after it.',
  },
  CHAT_KEEPALIVE_SECONDS: {
    default: '15',
    meaning: 'Silence in a stream after which a comment is sent, so that proxies keep it open.',
  },
  TASK_TIMEOUT_HOURS: { default: '24', meaning: 'A task without an end by then fails and is refunded.' },
  PHONE_DRIVER: { default: 'log', meaning: 'log (development: the code is written to the log) or http.' },
  PHONE_HTTP_URL: { meaning: 'Address that gets POST {phone, code} with PHONE_DRIVER=http.' },
  MESSAGING_VERIFY_URL: { meaning: 'Address asked with ?code=… to confirm a messaging-app binding.' },
  MAIL_BACKEND: {
    meaning: 'dovecot, mailcow or sandbox; none: mailboxes are switched off. With SANDBOX=1 the default is sandbox.',
  },
  MAIL_DOMAIN: { default: 'mail.localhost', meaning: 'Domain of the mailbox addresses.' },
  MAIL_HOST: { default: 'localhost', meaning: 'Host name mail clients connect to.' },
  WEBMAIL_URL: { meaning: 'Address of the webmail, shown to users.' },
  MAIL_IMAP_PORT: { default: '993', meaning: 'Port mail clients use for IMAP over TLS.' },
  MAIL_SMTP_PORT: { default: '465', meaning: 'Port mail clients use for SMTP over TLS.' },
  MAIL_POP3_PORT: { default: '995', meaning: 'Port mail clients use for POP3 over TLS.' },
  MAIL_APP_PASSWORD_PROTOCOLS: {
    default: 'imap,smtp,pop3',
    meaning: 'What a first application password of a mailbox admits: imap, smtp and pop3, or some of them.',
  },
  MAIL_DOVECOT_AUTH_SOCKET: {
    meaning: 'Auth socket of Dovecot for the consistency check: a path, or host:port. Required with dovecot.',
  },
  MAIL_DOVECOT_ADMIN_URL: { meaning: 'Address of the doveadm HTTP API of Dovecot, for ending open mail sessions.' },
  MAIL_DOVECOT_ADMIN_KEY: { secret: true, meaning: 'Its API key.' },
  MAIL_MAILCOW_URL: { meaning: 'Address of the mailcow. Required with mailcow.' },
  MAIL_MAILCOW_KEY: { secret: true, meaning: 'Its read-write API key. Required with mailcow.' },
  MAIL_MAILCOW_QUOTA_MB: { default: '1024', meaning: 'Size of a new mailbox on mailcow, in MiB.' },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
