/** OpenAI's error types, as its clients expect them in `error.type`. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'server_error'
  | 'upstream_error';

export interface ErrorRow {
  /** HTTP status on the video, model-call and page paths. */
  readonly status: number;
  /** HTTP status on /api paths: 200 for every documented business failure. */
  readonly api: number;
  readonly type: ErrorType;
  /** Whether the same request may succeed later without being changed. */
  readonly retry: boolean;
}

const business = (status = 400, type: ErrorType = 'invalid_request_error'): ErrorRow => ({
  status,
  api: 200,
  type,
  retry: false,
});
const edge = (status: number, type: ErrorType, retry = false): ErrorRow => ({ status, api: status, type, retry });

/** Every code this service answers with. The text of each stands in `messages/`; docs/errors.md is made from both. */
export const ERRORS = {
  // The edge: the request never reached a rule.
  invalid_json: edge(400, 'invalid_request_error'),
  invalid_request: edge(400, 'invalid_request_error'),
  invalid_text: edge(400, 'invalid_request_error'),
  body_too_large: edge(413, 'invalid_request_error'),
  unsupported_media_type: edge(415, 'invalid_request_error'),
  not_found: edge(404, 'invalid_request_error'),
  method_not_allowed: edge(405, 'invalid_request_error'),
  misdirected: edge(421, 'invalid_request_error'),
  unauthorized: edge(401, 'authentication_error'),
  invalid_api_key: edge(401, 'authentication_error'),
  forbidden: edge(403, 'permission_error'),
  cross_site: edge(403, 'permission_error'),
  rate_limit_exceeded: edge(429, 'rate_limit_error', true),
  internal_error: edge(500, 'server_error', true),
  unavailable: edge(503, 'server_error', true),

  // Accounts.
  wrong_login: business(401, 'authentication_error'),
  wrong_password: business(),
  wrong_code: business(),
  login_expired: business(),
  username_taken: business(),
  email_taken: business(),
  registration_closed: business(403, 'permission_error'),
  account_disabled: business(403, 'permission_error'),
  two_factor_on: business(),
  two_factor_off: business(),
  two_factor_not_set_up: business(),
  binding_taken: business(),
  messaging_unavailable: business(502, 'upstream_error'),
  phone_unavailable: business(502, 'upstream_error'),
  rank_too_low: edge(403, 'permission_error'),
  last_root: business(),
  not_exist: business(404),
  in_use: business(409),
  already_exists: business(409),

  // Device authorization: the codes of RFC 8628 section 3.5 and RFC 6749 section 5.2, and what lies behind an invalid_grant.
  client_unknown: business(401, 'authentication_error'),
  invalid_client: business(401, 'authentication_error'),
  authorization_pending: { ...business(), retry: true },
  slow_down: { ...business(), retry: true },
  access_denied: business(),
  expired_token: business(),
  device_code_invalid: business(),
  device_code_used: business(),
  refresh_token_invalid: business(),
  refresh_token_expired: business(),
  refresh_token_spent: business(),
  unsupported_grant_type: business(),
  record_incomplete: { status: 500, api: 200, type: 'server_error', retry: true },
  user_code_invalid: business(),
  user_code_expired: business(),
  user_code_processed: business(),
  device_token_missing: business(401, 'authentication_error'),
  device_authorization_missing: business(404),
  secrets_full: business(409),
  last_secret: business(409),
  form_expired: business(403, 'permission_error'),

  // Money.
  quota_not_enough: business(403, 'insufficient_quota'),
  token_quota_not_enough: business(403, 'insufficient_quota'),

  // Models and upstreams.
  channel_in_use: business(409),
  model_in_use: business(409),
  model_not_found: business(404),
  model_not_allowed: business(403, 'permission_error'),
  upstream_refused: business(400),
  upstream_error: { status: 502, api: 200, type: 'upstream_error', retry: true },
  upstream_unavailable: { status: 503, api: 200, type: 'upstream_error', retry: true },
  answer_broken_off: { status: 502, api: 200, type: 'upstream_error', retry: true },
  upstream_timeout: { status: 504, api: 200, type: 'upstream_error', retry: true },

  // Mailbox.
  invalid_local_part: edge(400, 'invalid_request_error'),
  mailbox_needs_binding: business(403, 'permission_error'),
  mailbox_taken: business(409),
  mailbox_reserved: business(),
  mailbox_missing: business(404),
  mailbox_off: business(503, 'server_error'),
  mailbox_unreachable: { status: 503, api: 200, type: 'upstream_error', retry: true },
  mailbox_unfinished: { status: 503, api: 200, type: 'upstream_error', retry: true },
  mailbox_not_checked: { status: 504, api: 200, type: 'upstream_error', retry: true },

  // Notifications, packages, tickets, beta applications.
  notification_invalid: business(404),
  too_many_streams: edge(429, 'rate_limit_error', true),
  topic_locked: business(),
  code_invalid: business(404),
  code_used: business(409),
  code_expired: business(),
  package_builtin: business(409),
  package_unavailable: business(),
  ticket_closed: business(409),
  ticket_full: business(409),
  ticket_moved_on: business(409),
  application_decided: business(409),

  // Video.
  task_not_exist: business(400),
  task_not_completed: business(400),
  content_not_found: business(404),
  favourites_full: business(409),
  content_unavailable: { status: 502, api: 200, type: 'upstream_error', retry: true },
  remix_unsupported: business(400),
  idempotency_in_progress: edge(409, 'invalid_request_error', true),
  idempotency_mismatch: edge(422, 'invalid_request_error'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
