import type { Generation } from '../source.ts';

/** Type of a column; each engine has its own word for it. `padded`: char(n), which PostgreSQL fills with blanks. */
export type ColumnKind = 'id' | 'int' | 'bool' | 'text' | 'padded' | 'time' | 'json' | 'float';
/** Columns of a table with their types. */
export type TableSchema = Readonly<Record<string, ColumnKind>>;

/** Oldest first: later releases add columns and never drop any. */
export const GENERATIONS: readonly Generation[] = [
  'one-api, first',
  'one-api',
  'new-api 2024',
  'new-api with several keys',
  'new-api with task ids',
  'new-api with task plugins',
];

const USERS: TableSchema = {
  id: 'id',
  username: 'text',
  password: 'text',
  display_name: 'text',
  role: 'int',
  status: 'int',
  email: 'text',
  github_id: 'text',
  wechat_id: 'text',
  access_token: 'padded',
  quota: 'int',
  used_quota: 'int',
  request_count: 'int',
  group: 'text',
  aff_code: 'text',
  inviter_id: 'int',
};
const TOKENS: TableSchema = {
  id: 'id',
  user_id: 'int',
  key: 'padded',
  status: 'int',
  name: 'text',
  created_time: 'int',
  accessed_time: 'int',
  expired_time: 'int',
  remain_quota: 'int',
  unlimited_quota: 'bool',
  used_quota: 'int',
};
const CHANNELS: TableSchema = {
  id: 'id',
  type: 'int',
  key: 'text',
  status: 'int',
  name: 'text',
  weight: 'int',
  created_time: 'int',
  base_url: 'text',
  other: 'text',
  balance: 'float',
  models: 'text',
  group: 'text',
  used_quota: 'int',
  model_mapping: 'text',
  priority: 'int',
};
const REDEMPTIONS: TableSchema = {
  id: 'id',
  user_id: 'int',
  key: 'padded',
  status: 'int',
  name: 'text',
  quota: 'int',
  created_time: 'int',
  redeemed_time: 'int',
};
const LOGS: TableSchema = {
  id: 'id',
  user_id: 'int',
  created_at: 'int',
  type: 'int',
  content: 'text',
  model_name: 'text',
  quota: 'int',
  prompt_tokens: 'int',
  completion_tokens: 'int',
  channel_id: 'int',
};
const OPTIONS: TableSchema = { key: 'text', value: 'text' };

/** The tables of a generation with their columns. */
export function schemaOf(generation: Generation): Readonly<Record<string, TableSchema>> {
  const common = {
    users: USERS,
    tokens: TOKENS,
    channels: CHANNELS,
    redemptions: REDEMPTIONS,
    logs: LOGS,
    options: OPTIONS,
  };
  const age = GENERATIONS.indexOf(generation);
  if (age === 0) return common;
  if (age === 1)
    return {
      ...common,
      tokens: { ...TOKENS, models: 'text', subnet: 'text' },
      channels: { ...CHANNELS, config: 'text', system_prompt: 'text' },
      users: { ...USERS, oidc_id: 'text', lark_id: 'text' },
    };
  const newApi = {
    ...common,
    users: {
      ...USERS,
      aff_count: 'int',
      aff_quota: 'int',
      aff_history: 'int',
      deleted_at: 'time',
      linux_do_id: 'text',
    },
    tokens: {
      ...TOKENS,
      model_limits_enabled: 'bool',
      model_limits: 'text',
      allow_ips: 'text',
      group: 'text',
      deleted_at: 'time',
    },
    channels: {
      ...CHANNELS,
      auto_ban: 'int',
      tag: 'text',
      setting: 'text',
      other_info: 'text',
      status_code_mapping: 'text',
    },
    redemptions: { ...REDEMPTIONS, used_user_id: 'int', expired_time: 'int', deleted_at: 'time' },
    logs: { ...LOGS, other: 'text' },
    quota_data: {
      id: 'id',
      user_id: 'int',
      username: 'text',
      model_name: 'text',
      created_at: 'int',
      token_used: 'int',
      count: 'int',
      quota: 'int',
    },
    tasks: {
      id: 'id',
      task_id: 'text',
      platform: 'text',
      user_id: 'int',
      channel_id: 'int',
      quota: 'int',
      status: 'text',
      progress: 'text',
      fail_reason: 'text',
      action: 'text',
      created_at: 'int',
      updated_at: 'int',
      submit_time: 'int',
      start_time: 'int',
      finish_time: 'int',
    },
    midjourneys: { id: 'id', user_id: 'int', mj_id: 'text' },
    top_ups: { id: 'id', user_id: 'int', amount: 'int', money: 'float', trade_no: 'text', status: 'text' },
  } as const;
  if (age === 2) return newApi;
  const keys = {
    ...newApi,
    channels: {
      ...newApi.channels,
      channel_info: 'json',
      settings: 'text',
      param_override: 'text',
      header_override: 'text',
    },
    setups: { id: 'id', version: 'text' },
    two_fas: { id: 'id', user_id: 'int', secret: 'text', is_enabled: 'bool', deleted_at: 'time' },
  } as const;
  if (age === 3) return keys;
  const taskIds = {
    ...keys,
    users: { ...keys.users, setting: 'text', created_at: 'int', last_login_at: 'int' },
    tasks: { ...keys.tasks, properties: 'json', private_data: 'json', data: 'json' },
    user_subscriptions: { id: 'id', user_id: 'int', amount_total: 'int', amount_used: 'int', status: 'text' },
  } as const;
  return age === 4
    ? taskIds
    : {
        ...taskIds,
        task_plugins: { id: 'id', key: 'text', source: 'text' },
        login_encryption_keys: { id: 'id', private_key: 'text' },
        a_fork_of_ours: { id: 'id', note: 'text' },
      };
}
