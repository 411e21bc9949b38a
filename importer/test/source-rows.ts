import type { Generation } from '../source.ts';

/** A value of a source row, before it is written in an engine's type. */
export type Value = string | number | bigint | boolean | null;
/** A row of a generated source. */
export type Row = Readonly<Record<string, Value>>;

/** The password of most old accounts. */
export const OLD_PASSWORD = 'old-password-7';
/** Its bcrypt hash, of cost 4 because verifying one of cost 10, as both programs write it, takes 64 times as long. */
export const OLD_PASSWORD_HASH = '$2a$04$18I5P2eq/cMAWtHK7tXJtuEqat3JHk3saTh5mrzxdKf4ZLAy5c9S2';
/** bcrypt of `123456`. */
export const FIRST_PASSWORD_HASH = '$2a$04$YEYwKAQF7prOjNvb32RM5eLD7N5qZwYvaq1swPdJuhWUD6gszsclS';
/** The current time of generated sources, in Unix seconds. */
export const NOW_SECONDS = 1_760_000_000;

/** A key as the old programs generate it: 48 letters and digits. */
export const oldKey = (seed: number): string =>
  `k${String(seed).padStart(7, '0')}${'abcdefghijABCDEFGHIJ01234567890123456789'.slice(0, 40)}`;

const PRICES: Row[] = [
  { key: 'ModelRatio', value: '{"gpt-4o":1.25,"odd-ratio":0.1234567,"no-completion":2,"claude-x":1.5}' },
  { key: 'CompletionRatio', value: '{"gpt-4o":4,"odd-ratio":3.3333,"claude-x":5}' },
  { key: 'ModelPrice', value: '{"sora-2":0.1,"kling-v2-1-master":0.35,"dall-e-3":0.04}' },
  { key: 'CacheRatio', value: '{"gpt-4o":0.5}' },
  { key: 'GroupRatio', value: '{"default":1,"vip":0.8,"sold":0.6}' },
  { key: 'GroupGroupRatio', value: '{"default":{"vip":0.5}}' },
  { key: 'AutoGroups', value: '["vip","default"]' },
  { key: 'UserUsableGroups', value: '{"default":"all","vip":"some"}' },
  { key: 'SMTPToken', value: 'a-secret-that-must-not-show' },
];

/**
 * Rows with every irregular value known from real databases; columns that a generation lacks are omitted when the rows
 * are written.
 */
export function rowsOf(generation: Generation): Readonly<Record<string, readonly Row[]>> {
  const isOneApi = generation.startsWith('one-api');
  return {
    users: userRows(isOneApi),
    tokens: tokenRows(),
    channels: channelRows(isOneApi),
    redemptions: codeRows(),
    options: PRICES,
    logs: LOG_ROWS,
    ...OTHERS,
  };
}

const user = (id: number, more: Row): Row => ({
  id,
  username: `user${id}`,
  password: OLD_PASSWORD_HASH,
  display_name: `User ${id}`,
  role: 1,
  status: 1,
  email: `user${id}@example.com`,
  quota: 1_000 * id,
  used_quota: 77,
  request_count: 3,
  group: 'default',
  aff_code: `aff${id}`,
  aff_quota: 0,
  access_token: `access${id}`,
  ...more,
});

const userRows = (isOneApi: boolean): Row[] => [
  user(1, {
    username: 'root',
    role: 100,
    password: FIRST_PASSWORD_HASH,
    quota: isOneApi ? 500_000_000_000_000n : 100_000_000,
  }),
  user(2, { username: 'Alice', email: 'Alice@Example.com' }),
  user(3, { username: 'alice', email: 'alice@example.com', quota: 5 }),
  user(4, { username: 'negative', quota: -250 }),
  user(5, { username: '小明', aff_quota: 40 }),
  user(6, { username: 'a b@c', status: 2 }),
  user(
    7,
    isOneApi
      ? { username: 'deleted_0123', status: 3, quota: 9 }
      : { username: 'gone', deleted_at: '2025-01-01 00:00:00', quota: 9 },
  ),
  user(8, { username: 'github', password: '', github_id: 'gh8', group: 'vip', email: '' }),
  user(9, { username: 'boss', role: 10, quota: -10, aff_quota: 60 }),
  user(10, { username: 'nul\u200bl', display_name: 'a\u202eb', email: 'no-address' }),
];

const token = (id: number, more: Row): Row => ({
  id,
  user_id: 2,
  key: oldKey(id),
  status: 1,
  name: `key ${id}`,
  created_time: NOW_SECONDS,
  accessed_time: NOW_SECONDS,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: true,
  used_quota: 0,
  model_limits_enabled: false,
  ...more,
});

const tokenRows = (): Row[] => [
  token(1, {}),
  token(2, { unlimited_quota: false, remain_quota: 300, used_quota: 200 }),
  token(3, {
    expired_time: 4_000_000_000,
    model_limits_enabled: true,
    model_limits: 'gpt-4o,sora-2',
    models: 'gpt-4o,sora-2',
  }),
  token(4, { status: 2 }),
  token(5, { expired_time: NOW_SECONDS - 100_000, status: 3 }),
  token(6, { user_id: 7 }),
  token(7, { user_id: 999 }),
  token(8, { allow_ips: '203.0.113.0/24\n198.51.100.7', subnet: '203.0.113.0/24,198.51.100.7' }),
  token(9, { allow_ips: 'everywhere', subnet: 'everywhere' }),
  token(10, { key: '' }),
  token(11, { user_id: 5, unlimited_quota: false, remain_quota: -5, used_quota: 10, status: 4 }),
  token(12, { user_id: 5, group: 'vip' }),
  token(13, { user_id: 8, group: 'vip' }),
  token(14, { user_id: 5, group: 'auto' }),
];

const channel = (id: number, more: Row): Row => ({
  id,
  type: 1,
  key: `upstream-key-${id}`,
  status: 1,
  name: `Channel ${id}`,
  weight: 0,
  priority: 0,
  base_url: '',
  models: 'gpt-4o',
  group: 'default,vip',
  ...more,
});

const channelRows = (isOneApi: boolean): Row[] => [
  channel(1, { models: 'gpt-4o,sora-2,odd-ratio,no-completion,dall-e-3', priority: 5 }),
  channel(2, { status: 2, model_mapping: '{"gpt-4o":"a","a":"b","self":"self"}' }),
  channel(3, { model_mapping: '{"gpt-4o":"x","x":"gpt-4o"}' }),
  channel(4, { type: 999 }),
  channel(5, { type: isOneApi ? 36 : 43, models: 'deepseek-chat', base_url: 'http://10.1.2.3:8000' }),
  channel(6, {
    key: '[" multi-one ","multi-two","multi-one"]',
    channel_info: '{"is_multi_key":true,"multi_key_status_list":{"1":2}}',
  }),
  channel(7, { base_url: 'https://example.com/with/a/path' }),
  channel(8, { setting: '{"proxy":"http://user:pass@proxy.example.com:3128"}', header_override: '{"X-Team":"red"}' }),
  channel(9, { setting: '{"proxy":"socks5://127.0.0.1:1080"}' }),
  channel(10, { type: 14, models: 'claude-x', key: 'anthropic-key', group: 'default' }),
  ...(isOneApi
    ? []
    : [
        channel(11, { type: 50, models: 'kling-v2-1-master', key: 'access|secret' }),
        channel(12, { type: 50, models: 'kling-v2-1-master', key: 'only-one-part' }),
        channel(13, {
          type: 50,
          models: 'kling-v2-1-master',
          key: ' access-1|secret-1 \r\n\naccess-2 | secret-2\nonly-one-part\n',
          channel_info: '{"is_multi_key":true}',
        }),
      ]),
];

const code = (id: number, more: Row): Row => ({
  id,
  user_id: 1,
  key: String(id).padStart(2, '0').repeat(16),
  status: 1,
  name: 'spring',
  quota: 1_000,
  created_time: NOW_SECONDS,
  expired_time: 0,
  ...more,
});
const codeRows = (): Row[] => [code(1, {}), code(2, { status: 3 }), code(3, { status: 2 }), code(4, { quota: 0 })];

const LOG_ROWS: Row[] = [
  {
    id: 1,
    user_id: 2,
    created_at: NOW_SECONDS,
    type: 2,
    model_name: 'deepseek-chat',
    quota: 10,
    prompt_tokens: 10,
    completion_tokens: 5,
    other: '{"model_ratio":0.135,"completion_ratio":4,"model_price":-1}',
  },
];

const OTHERS: Readonly<Record<string, readonly Row[]>> = {
  quota_data: [
    {
      id: 1,
      user_id: 2,
      username: 'Alice',
      model_name: 'gpt-4o',
      created_at: 1_759_968_000,
      token_used: 10,
      count: 1,
      quota: 5,
    },
    {
      id: 2,
      user_id: 2,
      username: 'Alice',
      model_name: 'gpt-4o',
      created_at: 1_759_971_600,
      token_used: 20,
      count: 2,
      quota: 6,
    },
    {
      id: 3,
      user_id: 7,
      username: 'gone',
      model_name: 'gpt-4o',
      created_at: 1_759_971_600,
      token_used: 20,
      count: 2,
      quota: 6,
    },
  ],
  tasks: [
    {
      id: 2,
      task_id: 'task_open',
      platform: '50',
      user_id: 2,
      channel_id: 11,
      quota: 71,
      status: 'IN_PROGRESS',
      progress: '30%',
    },
    ...unfinishedTasks(),
    ...endedTasks(),
  ],
  midjourneys: [{ id: 1, user_id: 2, mj_id: 'mj' }],
  top_ups: [{ id: 1, user_id: 2, amount: 10, money: 1.5, trade_no: 't1', status: 'success' }],
  two_fas: [{ id: 1, user_id: 2, secret: 'JBSWY3DPEHPK3PXP', is_enabled: true }],
  user_subscriptions: [{ id: 1, user_id: 2, amount_total: 500, amount_used: 100, status: 'active' }],
  a_fork_of_ours: [{ id: 1, note: 'x' }],
  login_encryption_keys: [{ id: 1, private_key: 'a-secret-that-must-not-show' }],
};

/** Ended tasks. The URL is in the column of the reason in older generations, and in `private_data` in newer ones. */
function endedTasks(): Row[] {
  const task = (id: number, more: Row): Row => ({
    id,
    platform: '50',
    user_id: 2,
    channel_id: 11,
    status: 'SUCCESS',
    progress: '100%',
    action: 'generate',
    submit_time: NOW_SECONDS + id,
    start_time: NOW_SECONDS + id + 5,
    finish_time: NOW_SECONDS + id + 60,
    ...more,
  });
  const named = '{"input":"a dog","origin_model_name":"kling-v2-1-master"}';
  return [
    task(1, {
      task_id: 'task_done',
      quota: 70,
      fail_reason: 'https://files.example.com/old.mp4',
      properties: named,
      private_data: '{"upstream_task_id":"vendor-1","token_id":2,"result_url":"https://files.example.com/new.mp4"}',
    }),
    task(20, { task_id: 'task_failed', quota: 0, status: 'FAILURE', fail_reason: 'no\u0007 luck', properties: named }),
    task(21, { task_id: 'song', quota: 4, platform: 'suno', channel_id: 4 }),
    task(22, { task_id: 'of_a_deleted_account', quota: 4, user_id: 7 }),
    task(23, { task_id: 'of_a_removed_channel', quota: 8, platform: '52', channel_id: 999, user_id: 8 }),
    task(24, { task_id: 'task_done', quota: 3, fail_reason: 'https://old.example.com/v1/videos/x/content' }),
  ];
}

/** Unfinished tasks, with ids of the newest generations; the older ones have no column for the vendor's id. */
function unfinishedTasks(): Row[] {
  const own = (letter: string): string => `task_${letter.repeat(32)}`;
  const task = (id: number, more: Row): Row => ({
    id,
    task_id: own(String(id)),
    platform: '50',
    user_id: 2,
    channel_id: 11,
    quota: 5,
    status: 'QUEUED',
    progress: '20%',
    action: 'textGenerate',
    ...more,
  });
  return [
    task(3, {
      private_data:
        '{"upstream_task_id":"vendor-3","token_id":1,"execution":{"request_path":"/v1/video/generations?key=must-not-show"}}',
      properties: '{"input":"a cat","origin_model_name":"kling-v2-1-master"}',
    }),
    task(4, { private_data: '{"execution":{"request_path":"/suno/submit/0123456789012345678901"}}' }),
    task(5, { private_data: '{"upstream_task_id":"vendor-5"}', channel_id: 13 }),
    task(6, { private_data: '{"upstream_task_id":"vendor-6"}', progress: '100%' }),
    task(7, { private_data: '{"upstream_task_id":"vendor-7"}', channel_id: 4 }),
    task(8, { private_data: '{"upstream_task_id":"vendor-8"}', user_id: 7 }),
  ];
}
