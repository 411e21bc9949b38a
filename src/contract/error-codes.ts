/** OpenAI's error types, as its clients expect them in `error.type`. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'server_error'
  | 'upstream_error';

/** HTTP status and category of one error code. */
export interface ErrorDefinition {
  /** HTTP status on the video, model-call and page paths. */
  readonly status: number;
  /** HTTP status on /api paths: 200 for every documented business failure. */
  readonly apiStatus: number;
  readonly type: ErrorType;
  /** Whether the same request may succeed later without being changed. */
  readonly retryable: boolean;
  /** The `api` envelope states the code, too. Bodies of the older errors are fixed as `{success, message}`. */
  readonly isCoded?: boolean;
}

const businessError = (status = 400, type: ErrorType = 'invalid_request_error'): ErrorDefinition => ({
  status,
  apiStatus: 200,
  type,
  retryable: false,
});
const protocolError = (status: number, type: ErrorType, retry = false): ErrorDefinition => ({
  status,
  apiStatus: status,
  type,
  retryable: retry,
});

const coded = (definition: ErrorDefinition): ErrorDefinition => ({ ...definition, isCoded: true });

/** Every error code this service returns. The texts are in `messages/`; docs/errors.md is generated from both. */
export const ERRORS = {
  // HTTP layer: the request was rejected before it reached a handler.
  invalid_json: protocolError(400, 'invalid_request_error'),
  invalid_request: protocolError(400, 'invalid_request_error'),
  invalid_text: protocolError(400, 'invalid_request_error'),
  precondition_failed: protocolError(412, 'invalid_request_error'),
  body_too_large: protocolError(413, 'invalid_request_error'),
  unsupported_media_type: protocolError(415, 'invalid_request_error'),
  not_found: protocolError(404, 'invalid_request_error'),
  method_not_allowed: protocolError(405, 'invalid_request_error'),
  malformed_request: protocolError(400, 'invalid_request_error'),
  request_timeout: protocolError(408, 'invalid_request_error', true),
  header_too_large: protocolError(431, 'invalid_request_error'),
  misdirected: protocolError(421, 'invalid_request_error'),
  unauthorized: protocolError(401, 'authentication_error'),
  invalid_api_key: protocolError(401, 'authentication_error'),
  forbidden: protocolError(403, 'permission_error'),
  play_link_expired: protocolError(403, 'permission_error'),
  insufficient_scope: protocolError(403, 'permission_error'),
  cross_site: protocolError(403, 'permission_error'),
  rate_limit_exceeded: protocolError(429, 'rate_limit_error', true),
  internal_error: protocolError(500, 'server_error', true),
  unavailable: protocolError(503, 'server_error', true),

  // Accounts.
  wrong_login: businessError(401, 'authentication_error'),
  wrong_password: businessError(),
  wrong_code: businessError(),
  password_too_common: businessError(),
  second_step_required: businessError(403, 'permission_error'),
  login_expired: businessError(),
  username_taken: businessError(),
  email_taken: businessError(),
  mail_off: businessError(503, 'server_error'),
  link_invalid: businessError(),
  password_sign_in_off: businessError(403, 'permission_error'),
  identity_rejected: businessError(400),
  identity_provider_unavailable: { status: 502, apiStatus: 200, type: 'upstream_error', retryable: true },
  identity_unknown: businessError(403, 'permission_error'),
  identity_domain: businessError(403, 'permission_error'),
  identity_taken: businessError(409),
  registration_closed: businessError(403, 'permission_error'),
  account_disabled: businessError(403, 'permission_error'),
  address_not_allowed: protocolError(403, 'permission_error'),
  two_factor_on: businessError(),
  two_factor_off: businessError(),
  two_factor_not_set_up: businessError(),
  second_factor_required: coded(protocolError(403, 'permission_error')),
  passkeys_off: coded(businessError(503, 'server_error')),
  passkeys_full: coded(businessError(409)),
  passkey_expired: coded(businessError()),
  wrong_passkey: coded(businessError(401, 'authentication_error')),
  last_way_in: coded(businessError(409)),
  binding_taken: businessError(),
  messaging_unavailable: businessError(502, 'upstream_error'),
  phone_unavailable: businessError(502, 'upstream_error'),
  rank_too_low: protocolError(403, 'permission_error'),
  last_root: businessError(),
  organization_not_found: coded(protocolError(404, 'invalid_request_error')),
  organization_closed: coded(protocolError(403, 'permission_error')),
  transfer_jobs_open: businessError(409),
  transfer_running: businessError(409),
  last_owner: businessError(409),
  organizations_full: businessError(409),
  not_exist: businessError(404),
  in_use: businessError(409),
  already_exists: businessError(409),

  // Device authorization: the codes of RFC 8628 section 3.5 and RFC 6749 section 5.2, and the causes of an
  // invalid_grant.
  client_unknown: businessError(401, 'authentication_error'),
  invalid_client: businessError(401, 'authentication_error'),
  authorization_pending: { ...businessError(), retryable: true },
  slow_down: { ...businessError(), retryable: true },
  access_denied: businessError(),
  expired_token: businessError(),
  device_code_invalid: businessError(),
  device_code_used: businessError(),
  refresh_token_invalid: businessError(),
  refresh_token_expired: businessError(),
  refresh_token_spent: businessError(),
  unsupported_grant_type: businessError(),
  invalid_scope: businessError(),
  invalid_target: businessError(),
  unsupported_response_type: businessError(),
  interaction_required: businessError(),
  redirect_uri_invalid: businessError(),
  authorization_code_invalid: businessError(),
  record_incomplete: { status: 500, apiStatus: 200, type: 'server_error', retryable: true },
  user_code_invalid: businessError(),
  user_code_expired: businessError(),
  user_code_processed: businessError(),
  device_token_missing: businessError(401, 'authentication_error'),
  device_authorization_missing: businessError(404),
  secrets_full: businessError(409),
  last_secret: businessError(409),
  form_expired: businessError(403, 'permission_error'),

  // Money.
  quota_not_enough: businessError(403, 'insufficient_quota'),

  // Models and upstreams.
  channel_in_use: businessError(409),
  model_in_use: businessError(409),
  model_not_found: businessError(404),
  model_not_allowed: businessError(403, 'permission_error'),
  upstream_refused: businessError(400),
  upstream_error: { status: 502, apiStatus: 200, type: 'upstream_error', retryable: true },
  upstream_unavailable: { status: 503, apiStatus: 200, type: 'upstream_error', retryable: true },
  answer_broken_off: { status: 502, apiStatus: 200, type: 'upstream_error', retryable: true },
  upstream_timeout: { status: 504, apiStatus: 200, type: 'upstream_error', retryable: true },

  // Mailbox.
  invalid_local_part: protocolError(400, 'invalid_request_error'),
  mailbox_needs_binding: businessError(403, 'permission_error'),
  mailbox_taken: businessError(409),
  mailbox_reserved: businessError(),
  mailbox_missing: businessError(404),
  mailbox_off: businessError(503, 'server_error'),
  mailbox_unreachable: { status: 503, apiStatus: 200, type: 'upstream_error', retryable: true },
  mailbox_unfinished: { status: 503, apiStatus: 200, type: 'upstream_error', retryable: true },
  mailbox_not_checked: { status: 504, apiStatus: 200, type: 'upstream_error', retryable: true },

  // Notifications, packages, tickets, beta applications.
  webhooks_full: businessError(409),
  webhook_disabled: businessError(409),
  notification_invalid: businessError(404),
  too_many_streams: protocolError(429, 'rate_limit_error', true),
  topic_locked: businessError(),
  code_invalid: businessError(404),
  code_used: businessError(409),
  code_expired: businessError(),
  package_builtin: businessError(409),
  package_unavailable: businessError(),
  ticket_closed: businessError(409),
  ticket_full: businessError(409),
  ticket_moved_on: businessError(409),
  application_decided: businessError(409),

  // Files.
  file_not_found: businessError(404),
  files_full: businessError(409),
  files_disabled: businessError(403, 'permission_error'),
  storage_full: businessError(409),

  // Batches.
  batch_not_found: businessError(404),
  batch_not_running: businessError(409),
  batch_not_ended: businessError(409),
  batch_without_failures: businessError(409),
  batches_full: protocolError(429, 'rate_limit_error', true),

  // Video.
  task_not_exist: businessError(400),
  task_not_completed: businessError(400),
  task_not_waiting: businessError(409),
  queue_full: protocolError(429, 'rate_limit_error', true),
  content_not_found: businessError(404),
  favourites_full: businessError(409),
  collections_full: businessError(409),
  shares_full: businessError(409),
  content_unavailable: { status: 502, apiStatus: 200, type: 'upstream_error', retryable: true },
  remix_unsupported: businessError(400),
  operation_unsupported: businessError(400),
  idempotency_in_progress: protocolError(409, 'invalid_request_error', true),
  idempotency_mismatch: coded(protocolError(422, 'invalid_request_error')),
} as const satisfies Record<string, ErrorDefinition>;

/** Code of an error this service returns. */
export type ErrorCode = keyof typeof ERRORS;
