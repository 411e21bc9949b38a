-- key: sk-7ONQRBsY4Y86HiYDmIdnU2XuPyDVuLcFG3bRgzMbVo4BBzlS
-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)














CREATE FUNCTION public.charge_calls(reservations_json json, ends_json json, log_json json, users bigint[], tokens bigint[], at bigint, notice_below bigint, wait_ms integer) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
  free_tokens bigint[];
  usual_timeout text := current_setting('lock_timeout');
  refs text[] := array(select ref from json_to_recordset(ends_json) as e(ref text));
  no_plan_is_plain boolean := not exists (
    select from plans where package_code = 'none' and (models <> '[]' or
      case when refresh_interval_seconds > 0 then interval_quota else daily_quota end > 0));
  outcomes text;
begin
  begin
    perform set_config('lock_timeout', wait_ms::text, true);
    perform pg_advisory_xact_lock_shared(1, (token % 2147483648)::integer) from unnest(tokens) as token;
    perform from token_limits where token_id = any(tokens) order by token_id for update;
    perform from wallets where user_id = any(users) order by user_id for update;
  exception when lock_not_available then
    null; -- What was locked by then is free again.
  end;
  perform set_config('lock_timeout', usual_timeout, true);
  free_tokens := array(
    select token from unnest(tokens) as token where pg_try_advisory_xact_lock_shared(1, (token % 2147483648)::integer));
  with
  -- What is asked for.
  asked as materialized (
    select * from json_to_recordset(reservations_json)
      as r(n int, ref text, user_id bigint, token_id bigint, model text, amount bigint)),
  ends as materialized (
    select * from json_to_recordset(ends_json) as e(n int, ref text, user_id bigint, token_id bigint, is_settled int,
      cost bigint, prompt_tokens bigint, completion_tokens bigint, channel_id bigint)),
  -- What is there, locked as far as it is free.
  limits as materialized (
    select token_id, used, quota_limit from token_limits where token_id = any(free_tokens) for update skip locked),
  purses as materialized (
    select user_id, balance from wallets where user_id = any(users) for update skip locked),
  open as materialized (
    select * from reservations where ref = any(refs) for update skip locked),
  keys as materialized (
    select token as token_id from unnest(free_tokens) as token
    where token in (select token_id from limits)
      or token not in (select token_id from token_limits where token_id = any(free_tokens))),
  -- What is done of it.
  ended as materialized (
    select e.n, e.is_settled, e.cost, e.prompt_tokens, e.completion_tokens, e.channel_id,
      o.ref, o.user_id, o.token_id, o.model, o.amount
    from ends e join open o on o.ref = e.ref and o.user_id = e.user_id and o.token_id is not distinct from e.token_id
      join purses p on p.user_id = o.user_id left join keys k on k.token_id = o.token_id
    where o.plan_amount = 0 and e.cost <= o.amount and (o.token_id is null or k.token_id is not null)),
  simple as materialized (
    select a.* from asked a join purses p on p.user_id = a.user_id left join keys k on k.token_id = a.token_id
    where no_plan_is_plain and (a.token_id is null or k.token_id is not null) and not exists (
      select from subscriptions s where s.user_id = a.user_id and s.state in ('active', 'waiting'))),
  exhausted_keys as materialized (
    select l.token_id from limits l join simple s on s.token_id = l.token_id
    group by l.token_id, l.used, l.quota_limit
    having l.used + sum(s.amount) - coalesce(
      (select sum(amount - cost) from ended d where d.token_id = l.token_id), 0) > l.quota_limit),
  payable as materialized (
    select * from simple where token_id is null or token_id not in (select token_id from exhausted_keys)),
  exhausted_purses as materialized (
    select p.user_id from purses p join payable a on a.user_id = p.user_id
    group by p.user_id, p.balance
    having sum(a.amount) > p.balance + coalesce(
        (select sum(amount - cost) from ended d where d.user_id = p.user_id), 0)
      or (p.balance >= notice_below and p.balance - sum(a.amount) < notice_below and notice_below > 0)),
  reserved as materialized (
    select * from payable where user_id not in (select user_id from exhausted_purses)),
  -- The writes.
  pay as (
    update wallets w set balance = w.balance + c.change, used = w.used + c.charged, requests = w.requests + c.settled
    from (
      select user_id, sum(change)::bigint as change, sum(charged)::bigint as charged, sum(settled)::bigint as settled
      from (
        select user_id, amount - cost as change, cost as charged, is_settled as settled from ended
        union all select user_id, -amount, 0, 0 from reserved) as each
      group by user_id) as c
    where w.user_id = any(users) and w.user_id = c.user_id),
  count_use as (
    update token_limits t set used = t.used + c.change
    from (
      select token_id, sum(change)::bigint as change
      from (select token_id, cost - amount as change from ended union all select token_id, amount from reserved) as each
      group by token_id) as c
    where t.token_id = any(free_tokens) and t.token_id = c.token_id),
  close_reservations as (
    delete from reservations where ref = any(refs) and ref in (select ref from ended)),
  add_reservations as (
    insert into reservations (ref, user_id, token_id, model, amount, plan_amount, plan_slot, created_at)
    select ref, user_id, token_id, model, amount, 0, null, at from reserved),
  add_entries as (
    insert into ledger (user_id, kind, amount, plan_amount, charged, ref, token_id, model, note, created_at)
    select user_id, 'reserve', -amount, 0, 0, ref, token_id, model, null, at from reserved
    union all
    select user_id, case is_settled when 1 then 'settle' else 'refund' end, amount - cost, 0, cost, ref, token_id, model,
      null, at from ended),
  add_usage as (
    insert into usage_daily as u
      (user_id, day, token_id, model, channel_id, requests, quota, prompt_tokens, completion_tokens)
    select user_id, at / 86400000, coalesce(token_id, 0), model, channel_id, count(*), sum(cost), sum(prompt_tokens),
      sum(completion_tokens)
    from ended where is_settled = 1 group by user_id, token_id, model, channel_id
    on conflict (user_id, day, token_id, model, channel_id) do update set
      requests = u.requests + excluded.requests, quota = u.quota + excluded.quota,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = u.completion_tokens + excluded.completion_tokens),
  add_log as (
    insert into requests (ref, user_id, token_id, channel_id, kind, model, served_model, status, error_code, input_tokens,
      cached_tokens, output_tokens, seconds, quota, reserved, duration_ms, first_token_ms, stream, client, price, facts,
      created_at)
    select d.ref, d.user_id, coalesce(d.token_id, 0), l.channel_id, l.kind, d.model, l.served_model, l.status, l.error_code,
      l.input_tokens, l.cached_tokens, l.output_tokens, l.seconds, d.cost, d.amount, l.duration_ms, l.first_token_ms,
      l.stream, l.client, l.price, l.facts, l.created_at
    from json_populate_recordset(null::requests, log_json) as l join ended d on d.ref = l.ref)
  select string_agg(letter, '' order by n) into outcomes from (
    select n, case
      when n in (select n from reserved) then 'd'
      when user_id not in (select user_id from purses) then 'b'
      when token_id is not null and token_id not in (select token_id from keys) then 'b'
      else 'a' end as letter
    from asked
    union all
    select n, case
      when n in (select n from ended) then 'd'
      when ref not in (select ref from reservations where ref = any(refs)) then 'e'
      when ref not in (select ref from open) or user_id not in (select user_id from purses) then 'b'
      when token_id is not null and token_id not in (select token_id from keys) then 'b'
      else 'a' end
    from ends) as each;
  return outcomes;
end
$$;
CREATE FUNCTION public.locked_token_limit(token bigint, alone boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
    begin
      if alone then
        perform pg_advisory_xact_lock(1, (token % 2147483648)::integer);
      else
        perform pg_advisory_xact_lock_shared(1, (token % 2147483648)::integer);
      end if;
      return (select quota_limit from token_limits where token_id = token);
    end
    $$;
CREATE TABLE public.account_reads (
    channel_id bigint NOT NULL,
    read_at bigint,
    failed_at bigint,
    error text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.accounts (
    id bigint NOT NULL,
    username text COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    login_email text COLLATE pg_catalog."C",
    email_confirmed_at bigint,
    display_name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    status bigint NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    removed_at bigint
);
ALTER TABLE public.accounts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.allowance_accounts (
    user_id bigint NOT NULL,
    zone text NOT NULL COLLATE pg_catalog."C",
    extended_day_start bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.allowance_usage (
    user_id bigint NOT NULL,
    subscription_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    starts_at bigint NOT NULL,
    used bigint NOT NULL,
    CONSTRAINT allowance_usage_not_negative CHECK ((used >= 0))
);
CREATE TABLE public.announcement_reads (
    user_id bigint NOT NULL,
    notification_id bigint NOT NULL
);
CREATE TABLE public.app_passwords (
    mailbox_id bigint NOT NULL,
    ref text COLLATE pg_catalog."C",
    sealed text COLLATE pg_catalog."C",
    hash text COLLATE pg_catalog."C",
    pending_ref text COLLATE pg_catalog."C",
    pending_sealed text COLLATE pg_catalog."C",
    pending_hash text COLLATE pg_catalog."C",
    pending_since bigint,
    imap integer NOT NULL,
    smtp integer NOT NULL,
    pop3 integer NOT NULL,
    session_end_due integer NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.artifact_totals (
    shard bigint NOT NULL,
    bytes bigint NOT NULL,
    files bigint NOT NULL
);
CREATE TABLE public.artifact_usage (
    user_id bigint NOT NULL,
    bytes bigint NOT NULL,
    files bigint NOT NULL
);
CREATE TABLE public.artifacts (
    id text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    variant text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL,
    sha256 text NOT NULL COLLATE pg_catalog."C",
    mime_type text NOT NULL COLLATE pg_catalog."C",
    tries bigint NOT NULL,
    next_try_at bigint,
    last_error text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    stored_at bigint NOT NULL,
    expires_at bigint,
    is_announced integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.audit_log (
    id bigint NOT NULL,
    actor_id bigint,
    action text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    before text COLLATE pg_catalog."C",
    after text COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.audit_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.backup_codes (
    user_id bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.beta_applications (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    feature text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    note text NOT NULL COLLATE pg_catalog."C",
    decided_by bigint,
    created_at bigint NOT NULL,
    decided_at bigint
);
ALTER TABLE public.beta_applications ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.beta_applications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bindings (
    user_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE TABLE public.budgets (
    user_id bigint NOT NULL,
    token_id bigint NOT NULL,
    month_quota bigint NOT NULL,
    thresholds text NOT NULL COLLATE pg_catalog."C",
    told_month bigint NOT NULL,
    told_percent bigint NOT NULL
);
CREATE TABLE public.catalog_version (
    place bigint NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.channel_circuits (
    channel_id bigint NOT NULL,
    credential_id bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    times_opened bigint NOT NULL,
    open_until bigint NOT NULL,
    trial_until bigint NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.channel_errors (
    id bigint NOT NULL,
    channel_id bigint NOT NULL,
    credential_id bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    message text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.channel_errors ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.channel_errors_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.channels (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    vendor text NOT NULL COLLATE pg_catalog."C",
    base_url text NOT NULL COLLATE pg_catalog."C",
    credentials text NOT NULL COLLATE pg_catalog."C",
    options text NOT NULL COLLATE pg_catalog."C",
    models text NOT NULL COLLATE pg_catalog."C",
    model_mapping text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C",
    connection text COLLATE pg_catalog."C",
    priority bigint NOT NULL,
    weight bigint NOT NULL,
    enabled integer NOT NULL,
    sandbox text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
ALTER TABLE public.channels ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.channels_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.device_authorizations (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    client_id text NOT NULL COLLATE pg_catalog."C",
    client_name text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    user_agent text NOT NULL COLLATE pg_catalog."C",
    access_hash text NOT NULL COLLATE pg_catalog."C",
    access_expires_at bigint NOT NULL,
    refresh_expires_at bigint NOT NULL,
    llm_token_id bigint NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    last_address text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.device_client_secrets (
    id bigint NOT NULL,
    client_id text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    hint text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.device_client_secrets ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.device_client_secrets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.device_clients (
    client_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    enabled integer NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.device_codes (
    id bigint NOT NULL,
    device_code_hash text NOT NULL COLLATE pg_catalog."C",
    user_code text NOT NULL COLLATE pg_catalog."C",
    client_id text NOT NULL COLLATE pg_catalog."C",
    client_name text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    network text NOT NULL COLLATE pg_catalog."C",
    user_agent text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    claimed_by bigint,
    user_id bigint,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    decided_at bigint,
    access_expires_at bigint,
    refresh_expires_at bigint,
    interval_seconds bigint NOT NULL,
    polled_at bigint,
    sweep_at bigint NOT NULL
);
ALTER TABLE public.device_codes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.device_codes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.device_refresh_tokens (
    hash text NOT NULL COLLATE pg_catalog."C",
    authorization_id bigint NOT NULL,
    client_id text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL,
    used_at bigint
);
CREATE TABLE public.email_tokens (
    hash text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    issued_by bigint,
    expires_at bigint NOT NULL
);
CREATE TABLE public.ended_sessions (
    hash text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    ended_at bigint NOT NULL
);
CREATE TABLE public.event_queue (
    reader text NOT NULL COLLATE pg_catalog."C",
    event_seq bigint NOT NULL
);
CREATE TABLE public.event_readers (
    name text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.events (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL COLLATE pg_catalog."C",
    callback_url text COLLATE pg_catalog."C",
    deduplication_key text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.events ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.favourite_videos (
    user_id bigint NOT NULL,
    task_seq bigint NOT NULL
);
CREATE TABLE public.first_administrator (
    place bigint NOT NULL
);
CREATE TABLE public.idempotency_keys (
    scope bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    request_hash text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    result text COLLATE pg_catalog."C",
    alive_until bigint NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.import_rows (
    import_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    source_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    target_id bigint,
    detail text COLLATE pg_catalog."C"
);
CREATE TABLE public.imports (
    id bigint NOT NULL,
    program text NOT NULL COLLATE pg_catalog."C",
    identity text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    started_at bigint NOT NULL,
    finished_at bigint
);
ALTER TABLE public.imports ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.imports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inboxes (
    user_id bigint NOT NULL,
    total_user bigint DEFAULT 0 NOT NULL,
    total_admin bigint DEFAULT 0 NOT NULL,
    unread_user bigint DEFAULT 0 NOT NULL,
    unread_admin bigint DEFAULT 0 NOT NULL,
    read_to_user bigint DEFAULT 0 NOT NULL,
    read_to_admin bigint DEFAULT 0 NOT NULL,
    announcements_read_to bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.instances (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    incidents text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.known_login_sources (
    user_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    last_used_at bigint NOT NULL
);
CREATE TABLE public.ledger (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    amount bigint NOT NULL,
    plan_amount bigint NOT NULL,
    charged bigint NOT NULL,
    ref text NOT NULL COLLATE pg_catalog."C",
    token_id bigint,
    model text COLLATE pg_catalog."C",
    note text COLLATE pg_catalog."C",
    settlements bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.ledger_audits (
    kind text NOT NULL COLLATE pg_catalog."C",
    finished_at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    findings text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.ledger_checkpoints (
    generation bigint NOT NULL,
    user_id bigint NOT NULL,
    amount bigint NOT NULL,
    charged bigint NOT NULL,
    settled bigint NOT NULL
);
CREATE TABLE public.ledger_generations (
    generation bigint NOT NULL,
    "position" bigint NOT NULL,
    is_current bigint NOT NULL
);
ALTER TABLE public.ledger ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ledger_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.limit_slots (
    key text NOT NULL COLLATE pg_catalog."C",
    slot bigint NOT NULL,
    holder text NOT NULL COLLATE pg_catalog."C",
    ends_at bigint NOT NULL
);
CREATE TABLE public.login_history (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    outcome text NOT NULL COLLATE pg_catalog."C",
    two_step integer NOT NULL,
    known_source integer NOT NULL,
    address text NOT NULL COLLATE pg_catalog."C",
    user_agent text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.login_history ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.login_history_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.mailboxes (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    address text NOT NULL COLLATE pg_catalog."C",
    skeleton text NOT NULL COLLATE pg_catalog."C",
    ref text NOT NULL COLLATE pg_catalog."C",
    password_source text NOT NULL COLLATE pg_catalog."C",
    password_sealed text COLLATE pg_catalog."C",
    password_hash text COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    provisioned_access text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE VIEW public.mail_auth_app AS
 SELECT m.address AS username,
    s.service,
    p.hash AS password
   FROM (((public.mailboxes m
     JOIN public.accounts a ON ((a.id = m.user_id)))
     JOIN public.app_passwords p ON ((p.mailbox_id = m.id)))
     JOIN ( SELECT 'imap'::text AS service
        UNION ALL
         SELECT 'smtp'::text
        UNION ALL
         SELECT 'pop3'::text) s ON ((((s.service = 'imap'::text) AND (p.imap = 1)) OR ((s.service = 'smtp'::text) AND (p.smtp = 1)) OR ((s.service = 'pop3'::text) AND (p.pop3 = 1)))))
  WHERE ((m.state = 'active'::text) AND (a.status = 1) AND (a.removed_at IS NULL) AND (p.hash IS NOT NULL));
CREATE TABLE public.passwords (
    user_id bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    changed_at bigint NOT NULL,
    generated integer NOT NULL
);
CREATE VIEW public.mail_auth_mailbox AS
 SELECT m.address AS username,
        CASE
            WHEN (a.status <> 1) THEN '{CRYPT}!'::text
            WHEN (m.password_source = 'account'::text) THEN COALESCE(('{ARGON2ID}'::text || p.hash), '{CRYPT}!'::text)
            ELSE m.password_hash
        END AS password
   FROM ((public.mailboxes m
     JOIN public.accounts a ON ((a.id = m.user_id)))
     LEFT JOIN public.passwords p ON ((p.user_id = m.user_id)))
  WHERE ((m.state = 'active'::text) AND (a.removed_at IS NULL));
CREATE TABLE public.mailbox_device_reads (
    authorization_id bigint NOT NULL,
    user_id bigint NOT NULL,
    created_at bigint NOT NULL
);
ALTER TABLE public.mailboxes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.mailboxes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.meta (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.models (
    id text NOT NULL COLLATE pg_catalog."C",
    vendor text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    price text COLLATE pg_catalog."C",
    alias_of text COLLATE pg_catalog."C",
    input_schema text COLLATE pg_catalog."C",
    on_retirement text DEFAULT 'refuse'::text NOT NULL COLLATE pg_catalog."C",
    enabled integer NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.notification_mail_settings (
    user_id bigint NOT NULL,
    language text COLLATE pg_catalog."C",
    digest_at bigint,
    quiet_from bigint,
    quiet_to bigint
);
CREATE TABLE public.notification_mails (
    id bigint NOT NULL,
    mail_id text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    notification_id bigint,
    is_urgent integer NOT NULL,
    title_en text NOT NULL COLLATE pg_catalog."C",
    content_en text NOT NULL COLLATE pg_catalog."C",
    title_zh text NOT NULL COLLATE pg_catalog."C",
    content_zh text NOT NULL COLLATE pg_catalog."C",
    target_url text NOT NULL COLLATE pg_catalog."C",
    deduplication_key text COLLATE pg_catalog."C",
    send_at bigint NOT NULL
);
ALTER TABLE public.notification_mails ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notification_mails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.notification_preferences (
    user_id bigint NOT NULL,
    topic text NOT NULL COLLATE pg_catalog."C",
    in_app integer,
    mail integer
);
CREATE TABLE public.notifications (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    for_admin integer NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    title_en text NOT NULL COLLATE pg_catalog."C",
    content_en text NOT NULL COLLATE pg_catalog."C",
    title_zh text COLLATE pg_catalog."C",
    content_zh text COLLATE pg_catalog."C",
    target_url text NOT NULL COLLATE pg_catalog."C",
    related_id bigint NOT NULL,
    is_read integer NOT NULL,
    deduplication_key text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.notifications ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.notifications_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outgoing_mails (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    recipient text NOT NULL COLLATE pg_catalog."C",
    locale text NOT NULL COLLATE pg_catalog."C",
    params text NOT NULL COLLATE pg_catalog."C",
    tries bigint NOT NULL,
    next_try_at bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.pending_logins (
    hash text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    purpose text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    wrong bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.phone_codes (
    user_id bigint NOT NULL,
    phone text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    wrong bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.plans (
    id bigint NOT NULL,
    package_code text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    level bigint NOT NULL,
    price_amount double precision NOT NULL,
    purchasable integer NOT NULL,
    daily_quota bigint NOT NULL,
    duration_days bigint NOT NULL,
    refresh_interval_seconds bigint NOT NULL,
    interval_quota bigint NOT NULL,
    weekly_quota_limit bigint NOT NULL,
    system_builtin integer NOT NULL,
    status bigint NOT NULL,
    models text NOT NULL COLLATE pg_catalog."C",
    price_factor double precision DEFAULT 1 NOT NULL,
    channels text DEFAULT '[]'::text NOT NULL COLLATE pg_catalog."C",
    storage_days bigint,
    storage_gb bigint,
    created_at bigint NOT NULL
);
ALTER TABLE public.plans ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.plans_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pollers (
    name text NOT NULL COLLATE pg_catalog."C",
    alive_until bigint NOT NULL
);
CREATE TABLE public.rate_limits (
    key text NOT NULL COLLATE pg_catalog."C",
    points bigint NOT NULL,
    ends_at bigint NOT NULL
);
CREATE TABLE public.reconciliations (
    id bigint NOT NULL,
    channel_id bigint NOT NULL,
    vendor text NOT NULL COLLATE pg_catalog."C",
    unit text NOT NULL COLLATE pg_catalog."C",
    from_time bigint,
    to_time bigint NOT NULL,
    counter bigint NOT NULL,
    videos bigint NOT NULL,
    settled_units bigint NOT NULL,
    settled_quota bigint NOT NULL,
    billed_units bigint
);
ALTER TABLE public.reconciliations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.reconciliations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.redemption_batches (
    id bigint NOT NULL,
    note text NOT NULL COLLATE pg_catalog."C",
    created_by bigint NOT NULL,
    created_at bigint NOT NULL
);
ALTER TABLE public.redemption_batches ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.redemption_batches_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.redemption_codes (
    id bigint NOT NULL,
    batch_id bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    hint text NOT NULL COLLATE pg_catalog."C",
    plan_id bigint,
    quota bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint,
    used_by bigint,
    used_at bigint,
    created_at bigint NOT NULL
);
ALTER TABLE public.redemption_codes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.redemption_codes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.requests (
    seq bigint NOT NULL,
    ref text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    token_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    served_model text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    error_code text NOT NULL COLLATE pg_catalog."C",
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    seconds bigint NOT NULL,
    quota bigint NOT NULL,
    reserved bigint NOT NULL,
    duration_ms bigint NOT NULL,
    first_token_ms bigint,
    stream integer NOT NULL,
    client text NOT NULL COLLATE pg_catalog."C",
    price text NOT NULL COLLATE pg_catalog."C",
    facts text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
)
PARTITION BY RANGE (created_at);
CREATE TABLE public.requests_rest (
    seq bigint NOT NULL,
    ref text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    token_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    served_model text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    error_code text NOT NULL COLLATE pg_catalog."C",
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    seconds bigint NOT NULL,
    quota bigint NOT NULL,
    reserved bigint NOT NULL,
    duration_ms bigint NOT NULL,
    first_token_ms bigint,
    stream integer NOT NULL,
    client text NOT NULL COLLATE pg_catalog."C",
    price text NOT NULL COLLATE pg_catalog."C",
    facts text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.requests ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.requests_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.reservations (
    ref text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    token_id bigint,
    model text NOT NULL COLLATE pg_catalog."C",
    amount bigint NOT NULL,
    plan_amount bigint NOT NULL,
    plan_slot text COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE TABLE public.scheduled_jobs (
    name text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    locked_until bigint NOT NULL,
    due_at bigint NOT NULL
);
CREATE TABLE public.schema_migrations (
    id text NOT NULL COLLATE pg_catalog."C",
    applied_at bigint NOT NULL
);
CREATE TABLE public.seeded_models (
    id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.sessions (
    id bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    address text NOT NULL COLLATE pg_catalog."C",
    user_agent text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
ALTER TABLE public.sessions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.site_settings (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    updated_at bigint NOT NULL
);
CREATE TABLE public.subscriptions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    plan_id bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    duration_days bigint NOT NULL,
    starts_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    expiry_notified integer DEFAULT 0 NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.subscriptions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.subscriptions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.task_attempts (
    task_id text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    channel_id bigint NOT NULL,
    credential_id bigint,
    outcome text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    message text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE TABLE public.tasks (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    public_id text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    token_id bigint NOT NULL,
    channel_id bigint,
    credential_id bigint,
    vendor text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    upstream_model text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    progress bigint NOT NULL,
    attempt bigint NOT NULL,
    price bigint NOT NULL,
    pricing text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    client text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    prompt text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL COLLATE pg_catalog."C",
    handle text COLLATE pg_catalog."C",
    find_task_hint text COLLATE pg_catalog."C",
    artifact text COLLATE pg_catalog."C",
    fail_cause text NOT NULL COLLATE pg_catalog."C",
    fail_reason text NOT NULL COLLATE pg_catalog."C",
    error_code text NOT NULL COLLATE pg_catalog."C",
    remixed_from text COLLATE pg_catalog."C",
    external_id text COLLATE pg_catalog."C",
    callback_url text COLLATE pg_catalog."C",
    traceparent text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    submit_time bigint NOT NULL,
    start_time bigint NOT NULL,
    finish_time bigint NOT NULL,
    updated_at bigint NOT NULL,
    next_poll_at bigint,
    poll_failures bigint NOT NULL,
    deleted integer NOT NULL,
    has_detail integer DEFAULT 1 NOT NULL
);
ALTER TABLE public.tasks ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tasks_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ticket_replies (
    id bigint NOT NULL,
    ticket_id bigint NOT NULL,
    author_id bigint NOT NULL,
    by_staff integer NOT NULL,
    internal integer NOT NULL,
    content text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
ALTER TABLE public.ticket_replies ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.ticket_replies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tickets (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    title text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C",
    category text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    awaits_staff integer NOT NULL,
    reply_count bigint NOT NULL,
    entry_count bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
ALTER TABLE public.tickets ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tickets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.token_limits (
    token_id bigint NOT NULL,
    quota_limit bigint NOT NULL,
    used bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.tokens (
    id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    hint text NOT NULL COLLATE pg_catalog."C",
    models text COLLATE pg_catalog."C",
    allowed_addresses text COLLATE pg_catalog."C",
    requests_per_minute bigint,
    tokens_per_minute bigint,
    concurrent_calls bigint,
    concurrent_tasks bigint,
    expires_at bigint,
    created_at bigint NOT NULL,
    last_used_at bigint,
    revoked_at bigint
);
ALTER TABLE public.tokens ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.two_factors (
    user_id bigint NOT NULL,
    secret text NOT NULL COLLATE pg_catalog."C",
    last_step bigint NOT NULL,
    enabled_at bigint
);
CREATE TABLE public.usage_daily (
    user_id bigint NOT NULL,
    day bigint NOT NULL,
    token_id bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    channel_id bigint NOT NULL,
    requests bigint NOT NULL,
    quota bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL
);
CREATE TABLE public.user_tokens (
    user_id bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE TABLE public.video_shares (
    id bigint NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    token_hash text NOT NULL COLLATE pg_catalog."C",
    token text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL COLLATE pg_catalog."C",
    password_hash text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint
);
ALTER TABLE public.video_shares ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.video_shares_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.wallets (
    user_id bigint NOT NULL,
    balance bigint NOT NULL,
    used bigint DEFAULT 0 NOT NULL,
    requests bigint DEFAULT 0 NOT NULL,
    CONSTRAINT wallets_never_below_zero CHECK ((balance >= 0))
);
CREATE TABLE public.webhook_account_secrets (
    user_id bigint NOT NULL,
    secret text NOT NULL COLLATE pg_catalog."C",
    previous_secret text COLLATE pg_catalog."C",
    previous_until bigint NOT NULL
);
CREATE TABLE public.webhook_deliveries (
    id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    user_id bigint NOT NULL,
    lane text NOT NULL COLLATE pg_catalog."C",
    event_seq bigint NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    event_type text NOT NULL COLLATE pg_catalog."C",
    event_at bigint NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    tries bigint NOT NULL,
    next_try_at bigint,
    created_at bigint NOT NULL,
    last_try_at bigint,
    last_url text NOT NULL COLLATE pg_catalog."C",
    last_request text NOT NULL COLLATE pg_catalog."C",
    last_status bigint,
    last_response text NOT NULL COLLATE pg_catalog."C",
    last_error text NOT NULL COLLATE pg_catalog."C",
    last_duration_ms bigint NOT NULL
);
ALTER TABLE public.webhook_deliveries ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.webhook_endpoints (
    id bigint NOT NULL,
    secret text NOT NULL COLLATE pg_catalog."C",
    previous_secret text COLLATE pg_catalog."C",
    previous_until bigint NOT NULL,
    ref text NOT NULL COLLATE pg_catalog."C",
    user_id bigint NOT NULL,
    url text NOT NULL COLLATE pg_catalog."C",
    events text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    preset text NOT NULL COLLATE pg_catalog."C",
    enabled integer NOT NULL,
    disabled_reason text NOT NULL COLLATE pg_catalog."C",
    failing_since bigint,
    created_at bigint NOT NULL
);
ALTER TABLE public.webhook_endpoints ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.webhook_endpoints_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.requests ATTACH PARTITION public.requests_rest DEFAULT;
INSERT INTO public.accounts VALUES (1, 'root', NULL, NULL, NULL, 'root', 'root', 1, 'UTC', 1795479124609, NULL);
INSERT INTO public.accounts VALUES (2, 'grace', NULL, NULL, NULL, 'grace', 'user', 1, 'UTC', 1795479126447, NULL);
INSERT INTO public.allowance_accounts VALUES (1, 'UTC', 0);
INSERT INTO public.allowance_usage VALUES (1, 1, 'day', 1795478400000, 1020000);
INSERT INTO public.allowance_usage VALUES (1, 1, 'week', 1795479126332, 1020000);
INSERT INTO public.app_passwords VALUES (1, '8b6819158ed1ee0709a6', 's1.33903c6a.0e8uQkeaUaUsScaDHQMnABdkepkVzXvwR04Um3IcQkcSz5HWZTsnnHj8rokT-p7HC-vxkQ', '{SSHA512}WpDbklPoA/6+XM9K5/WFmQPkpPqLqAXqlzHpoEF5hsbJq0F7hsARIEtyCHw2ilo/mCAvL0YayfkP4tWuxs2I79Lsl12N0JX0sSM7z69UpIY=', NULL, NULL, NULL, NULL, 1, 1, 1, 0, 1795479126441);
INSERT INTO public.audit_log VALUES (1, 1, 'channel.create', 'channel:1', NULL, '{"id":1,"name":"kling","vendor":"kling","base_url":"http://127.0.0.1:44439","options":{"private":true},"models":["kling-v1-6"],"model_mapping":{},"priority":0,"weight":1,"enabled":true,"credentials":"[masked]","credential_list":[{"id":1,"name":"","enabled":true}]}', '127.0.0.1', 'VMgcQgVZ2rWB1h', 1795479124894);
INSERT INTO public.audit_log VALUES (2, 1, 'channel.create', 'channel:2', NULL, '{"id":2,"name":"sora","vendor":"sora","base_url":"http://127.0.0.1:46387","options":{"private":true},"models":["sora-2"],"model_mapping":{},"priority":0,"weight":1,"enabled":true,"credentials":"[masked]","credential_list":[{"id":1,"name":"","enabled":true}]}', '127.0.0.1', 'VMgcQgVZ2rWB1i', 1795479124906);
INSERT INTO public.audit_log VALUES (3, 1, 'user.update', 'user:1', '{}', '{"quota_delta":10000000000,"note":"test"}', '127.0.0.1', 'VMgcQgVZ2rWB1j', 1795479124914);
INSERT INTO public.audit_log VALUES (4, 1, 'model.create', 'model:sandbox-chat', NULL, '{"id":"sandbox-chat","vendor":"openai","kind":"chat","price":{"input_per_million":1000000,"output_per_million":4000000},"alias_of":null,"input_schema":null,"on_retirement":"refuse","enabled":true}', '127.0.0.1', 'VMgcQgVZ2rWB1m', 1795479124937);
INSERT INTO public.audit_log VALUES (5, 1, 'channel.create', 'channel:3', NULL, '{"id":3,"name":"openai","vendor":"openai","base_url":"http://127.0.0.1:40343","options":{"private":true},"models":["sandbox-chat"],"model_mapping":{},"priority":0,"weight":1,"enabled":true,"credentials":"[masked]","credential_list":[{"id":1,"name":"","enabled":true}]}', '127.0.0.1', 'VMgcQgVZ2rWB1n', 1795479124945);
INSERT INTO public.audit_log VALUES (6, 1, 'channel.create', 'channel:4', NULL, '{"id":4,"name":"vidu","vendor":"vidu","base_url":"http://127.0.0.1:41093","options":{"private":true},"models":["viduq2"],"model_mapping":{},"priority":0,"weight":1,"enabled":true,"credentials":"[masked]","credential_list":[{"id":1,"name":"","enabled":true}]}', '127.0.0.1', 'VMgcQgVZ2rWB1o', 1795479124957);
INSERT INTO public.audit_log VALUES (7, 1, 'user.update', 'user:1', '{}', '{"quota_delta":50000000,"note":"start"}', '127.0.0.1', 'VMgcQgVZ2rWB1p', 1795479124966);
INSERT INTO public.audit_log VALUES (8, 1, 'package-card.create', 'package-card:2', NULL, '{"description":"For people who make videos every day.","price_amount":9,"daily_quota":1000000,"refresh_interval_seconds":0,"interval_quota":0,"weekly_quota_limit":5000000,"status":1,"package_code":"start","name":"Start","level":1,"duration_days":30,"purchasable":1,"models":"[]","channels":"[]","system_builtin":0,"created_at":1795479126313}', '127.0.0.1', 'VMgcQgVZ2rWB22', 1795479126314);
INSERT INTO public.audit_log VALUES (9, 1, 'package-card.create', 'package-card:3', NULL, '{"description":"For people who make videos every day.","price_amount":29,"daily_quota":5000000,"refresh_interval_seconds":0,"interval_quota":0,"weekly_quota_limit":25000000,"status":1,"package_code":"studio","name":"Studio","level":2,"duration_days":30,"purchasable":1,"models":"[]","channels":"[]","system_builtin":0,"created_at":1795479126316}', '127.0.0.1', 'VMgcQgVZ2rWB23', 1795479126318);
INSERT INTO public.audit_log VALUES (10, 1, 'package-card.create', 'package-card:4', NULL, '{"description":"For people who make videos every day.","price_amount":99,"daily_quota":20000000,"refresh_interval_seconds":0,"interval_quota":0,"weekly_quota_limit":100000000,"status":1,"package_code":"house","name":"Production house","level":3,"duration_days":30,"purchasable":1,"models":"[]","channels":"[]","system_builtin":0,"created_at":1795479126322}', '127.0.0.1', 'VMgcQgVZ2rWB24', 1795479126323);
INSERT INTO public.audit_log VALUES (11, 1, 'redemption-codes.create', 'redemption-batch:1', NULL, '{"package_code":"studio","count":1}', '127.0.0.1', 'VMgcQgVZ2rWB25', 1795479126328);
INSERT INTO public.audit_log VALUES (12, 1, 'device.approve', 'device:1', NULL, '{"client":"reelgate-cli","name":"Edit suite","asked_from":"127.0.0.1"}', '127.0.0.1', 'VMgcQgVZ2rWB28', 1795479126352);
INSERT INTO public.audit_log VALUES (13, 1, 'ticket.reply', 'ticket:1', NULL, '{"reply":1,"content":"Thank you for the report. The vendor has changed its model overnight; a seed of yesterday gives the old look.","internal":false}', '127.0.0.1', 'VMgcQgVZ2rWB2b', 1795479126370);
INSERT INTO public.audit_log VALUES (14, 1, 'beta_application.approved', 'beta_application:1', '{"status":"pending"}', '{"status":"approved","note":"Have fun."}', '127.0.0.1', 'VMgcQgVZ2rWB2e', 1795479126382);
INSERT INTO public.audit_log VALUES (15, 1, 'self.bind-phone', 'user:1', NULL, NULL, '127.0.0.1', 'VMgcQgVZ2rWB2h', 1795479126396);
INSERT INTO public.audit_log VALUES (16, 1, 'mailbox.create', 'mailbox:studio@mail.localhost', NULL, NULL, '127.0.0.1', 'VMgcQgVZ2rWB2i', 1795479126427);
INSERT INTO public.audit_log VALUES (17, 1, 'mailbox.app-password.replace', 'mailbox:studio@mail.localhost', NULL, NULL, '127.0.0.1', 'VMgcQgVZ2rWB2j', 1795479126442);
INSERT INTO public.audit_log VALUES (18, 2, 'webhook.create', 'webhook:1', NULL, '{"url":"https://example.com/hook","events":[]}', '127.0.0.1', 'VMgcQgVZ2rWB2m', 1795479126498);
INSERT INTO public.beta_applications VALUES (1, 1, 'Side-by-side comparison', 'We choose models for clients every week.', 'approved', 'Have fun.', 1, 1795479126377, 1795479126382);
INSERT INTO public.beta_applications VALUES (2, 1, 'Storyboards', 'For a short film.', 'pending', '', NULL, 1795479126385, NULL);
INSERT INTO public.bindings VALUES (1, 'phone', '+4915112345678', 1795479126395);
INSERT INTO public.catalog_version VALUES (1, 10);
INSERT INTO public.channels VALUES (1, 'kling', 'kling', 'http://127.0.0.1:44439', 's1.33903c6a.ThIRdd_ATMJy-5fqw8HwGALYMtxxFQzTWyN4FowbfL0fKgqLNAnYe9rdpPe06wTJnZCBFUv8AwvhVanIkrAsorbMbWS-aqNKFOSOUokbCjQ5rPouCu1cRsI_M77HLZo_IHrvOdiQ9Jp7YlK_LG29uKTvQlRPzNCHIoT958iApHDnBxcWEwE2UVaqAkmZ_IK1VnizGR12r1uo5Slg5tTIPkrDf-xO0ujdWsxKEPcdrDg', '{"private":true}', '["kling-v1-6"]', '{}', NULL, 0, 1, 1, NULL, 1795479124891, 1795479124891);
INSERT INTO public.channels VALUES (2, 'sora', 'sora', 'http://127.0.0.1:46387', 's1.33903c6a.opO2lBga0Q1GQbhYYfywhKj0BCAmKG67mrHpgC4gTQLM3fTLpkI5g_8T-pH6AsXVd5NvQA0ptxN2LL0pBxKEieskFikISWpOT58kZ16PNoPs4gi9tBuiu361Stle86kVuCuO5FE-pqMwksBSJmUS7aCak7NRYFbDiU74', '{"private":true}', '["sora-2"]', '{}', NULL, 0, 1, 1, NULL, 1795479124903, 1795479124903);
INSERT INTO public.channels VALUES (3, 'openai', 'openai', 'http://127.0.0.1:40343', 's1.33903c6a.7JXWJIUMNfsTLvYVwVh4RRXjY0tGoUdimqYGa0Kh-qzfNp2xa6UdqjPWjv9Eu2bV1MW3Sz-upuLK-g1R_Yagk6jx4wBxdK5JdceKm2ssZgyfH2H2Ctq02puta2ShmPNdKunEYfKAqhAH7fX8GgzixGq4loZHeA2qdpW1YdV3wmMHvIaAjtqDutU7G9uCYw', '{"private":true}', '["sandbox-chat"]', '{}', NULL, 0, 1, 1, NULL, 1795479124942, 1795479124942);
INSERT INTO public.channels VALUES (4, 'vidu', 'vidu', 'http://127.0.0.1:41093', 's1.33903c6a.Rct1sGj082ZlaV5POkC-lwFlsd7JJeYqb2r0LO4xN2Yz182tbccYQmVt17tXJ5DtmNSZCx0tu__mHPvzGp1bp1C_Oyb--o-_6oMe78k3lNJf2HhwC-zHpkUvxuS-zh0XzD4ezBeYtaWz7zOwCVDN8Iojs9PjmLOF9MPT7T56pT-z9g', '{"private":true}', '["viduq2"]', '{}', NULL, 0, 1, 1, NULL, 1795479124953, 1795479124953);
INSERT INTO public.device_authorizations VALUES (1, 1, 'reelgate-cli', 'Edit suite', 'suite-1', '127.0.0.1', 'lightMyRequest', '2249536daeda27e4a842df7a69a07d57dd974e814f9e525700620e875c7358a7', 1798071126347, 1803255126347, 4, 1795479126347, 1795479126358, '127.0.0.1');
INSERT INTO public.device_client_secrets VALUES (1, 'reelgate-cli', '916420658fb0268b93e13e4225dc09a23772ed0a8d61a0a67a325085b2437135', 'rgcs_cli', 1795479124281);
INSERT INTO public.device_clients VALUES ('reelgate-cli', 'Reelgate CLI', 1, 1795479124281);
INSERT INTO public.device_codes VALUES (1, '0d6d62c16f42374ecedcd635ca0d4df08628868d9006f3c1799bb9152a82c007', 'WMHHZBVP', 'reelgate-cli', 'Edit suite', 'suite-1', '127.0.0.1', '127.0.0.1', 'lightMyRequest', 'used', 1, 1, 1795479126340, 1795479726340, 1795479126347, 1798071126347, 1803255126347, 5, NULL, 1795565526358);
INSERT INTO public.device_refresh_tokens VALUES ('ff2d756957ce8a55764b174e8e9af2dc825803f7799d9b8046c47d779a87ee28', 1, 'reelgate-cli', 1803255126347, NULL);
INSERT INTO public.event_readers VALUES ('webhooks');
INSERT INTO public.events VALUES (1, 'evt_3hKVi6b1IoQ2oetXpunYdhl2', 'video.completed', 1, 'video:task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', '{"id":"task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK","object":"video","status":"completed","model":"kling-v1-6","created_at":1795479124,"completed_at":1795479126}', NULL, NULL, 1795479126159);
INSERT INTO public.events VALUES (2, 'evt_BUgm38riPtq6HXHWDSoLZ4T5', 'video.completed', 1, 'video:task_VbqRQjnw0a4giqGGlR4Ol1hPHGOJmalG', '{"id":"video_1a20ae53c0c000005","object":"video","status":"completed","model":"sora-2","created_at":1795479125,"completed_at":1795479126}', NULL, NULL, 1795479126170);
INSERT INTO public.events VALUES (3, 'evt_JKVOIbBvcVjql2aZ6VAwZNqa', 'video.completed', 1, 'video:task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', '{"id":"task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD","object":"video","status":"completed","model":"viduq2","created_at":1795479125,"completed_at":1795479126}', NULL, NULL, 1795479126181);
INSERT INTO public.events VALUES (4, 'evt_l3T9F5lF5pYwyyDXyLMbjV2Z', 'video.failed', 1, 'video:task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', '{"id":"task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n","object":"video","status":"failed","model":"kling-v1-6","created_at":1795479125,"completed_at":1795479126,"metadata":{"negative_prompt":"people"},"error":{"code":"","message":"Task processing failed, please try again"}}', NULL, NULL, 1795479126187);
INSERT INTO public.events VALUES (5, 'evt_5OGHWIkOxPYdR8tNPMhePZst', 'device.signed_in', 1, 'device:1', '{"id":1,"name":"Reelgate CLI (“Edit suite”)","address":"127.0.0.1"}', NULL, 'device.new:1', 1795479126351);
INSERT INTO public.events VALUES (6, 'evt_33SJ0Y5bdQa5U9DLnNsZ1sHX', 'ticket.replied', 1, 'ticket:1', '{"id":1,"title":"The colours of my last video are off","content":"Thank you for the report. The vendor has changed its model overnight; a seed of yesterday gives the old look."}', NULL, NULL, 1795479126370);
INSERT INTO public.first_administrator VALUES (1);
INSERT INTO public.inboxes VALUES (1, 7, 0, 7, 0, 0, 0, 0);
INSERT INTO public.known_login_sources VALUES (1, 'device:ba50d5c5dd754593e72381e3acc9aaeaf0342af0eb05acfb76bf003f39206f6a', 1795479124859);
INSERT INTO public.known_login_sources VALUES (1, 'device:1853d90345b1a7b17e85064ef4baf2cccad04e27564946d080836259d2c8349c', 1795479124880);
INSERT INTO public.known_login_sources VALUES (1, 'device:602769221ce93db32dcec1e27e065d7cd419d5de902b37ca107408d25da58a20', 1795479124929);
INSERT INTO public.known_login_sources VALUES (1, 'network:127.0.0.1', 1795479124929);
INSERT INTO public.known_login_sources VALUES (2, 'device:408c4476f6b910c21dd2f11dc0ccfee5a59ce696bf1e3548e54851e634fa4cc0', 1795479126458);
INSERT INTO public.known_login_sources VALUES (2, 'network:127.0.0.1', 1795479126458);
INSERT INTO public.ledger VALUES (1, 1, 'grant', 10000000000, 0, 0, 'admin:KTqI5EVa078IakIdh6oZ', NULL, NULL, 'test', 0, 1795479124912);
INSERT INTO public.ledger VALUES (2, 1, 'grant', 50000000, 0, 0, 'admin:z8ZJfoLYq0AQkaN2U9nK', NULL, NULL, 'start', 0, 1795479124964);
INSERT INTO public.ledger VALUES (3, 1, 'reserve', -140000, 0, 0, 'task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', NULL, 'kling-v1-6', NULL, 0, 1795479124992);
INSERT INTO public.ledger VALUES (4, 1, 'reserve', -400000, 0, 0, 'task_VbqRQjnw0a4giqGGlR4Ol1hPHGOJmalG', NULL, 'sora-2', NULL, 0, 1795479125005);
INSERT INTO public.ledger VALUES (5, 1, 'reserve', -125000, 0, 0, 'task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', NULL, 'viduq2', NULL, 0, 1795479125016);
INSERT INTO public.ledger VALUES (6, 1, 'reserve', -140000, 0, 0, 'task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', NULL, 'kling-v1-6', NULL, 0, 1795479125026);
INSERT INTO public.ledger VALUES (7, 1, 'settle', 0, 0, 140000, 'task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', NULL, 'kling-v1-6', NULL, 0, 1795479126147);
INSERT INTO public.ledger VALUES (8, 1, 'settle', 0, 0, 400000, 'task_VbqRQjnw0a4giqGGlR4Ol1hPHGOJmalG', NULL, 'sora-2', NULL, 0, 1795479126151);
INSERT INTO public.ledger VALUES (9, 1, 'settle', 0, 0, 125000, 'task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', NULL, 'viduq2', NULL, 0, 1795479126155);
INSERT INTO public.ledger VALUES (10, 1, 'refund', 140000, 0, 0, 'task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', NULL, 'kling-v1-6', NULL, 0, 1795479126155);
INSERT INTO public.ledger VALUES (11, 1, 'reserve', 0, -140000, 0, 'task_VbqRR88STvKLq45YF5bLWCeDzT4Rkd2X', 1, 'kling-v1-6', NULL, 0, 1795479126525);
INSERT INTO public.ledger VALUES (12, 1, 'reserve', 0, -200000, 0, 'task_VbqRR88XbIVWSCfKEBL7KW94GuVWpX9R', 1, 'sora-2', NULL, 0, 1795479126535);
INSERT INTO public.ledger VALUES (13, 1, 'reserve', 0, -140000, 0, 'task_VbqRR88yESairynVrdCDwQA0uUj6w30s', 1, 'kling-v1-6', NULL, 0, 1795479126543);
INSERT INTO public.ledger VALUES (14, 1, 'reserve', 0, -200000, 0, 'task_VbqRR89nB7MI6wc3iEevUi7wyYvWqYTf', 1, 'sora-2', NULL, 0, 1795479126552);
INSERT INTO public.ledger VALUES (15, 1, 'reserve', 0, -140000, 0, 'task_VbqRR88fi0BCUCbb22lGg6s5hWb9SCo1', 1, 'kling-v1-6', NULL, 0, 1795479126561);
INSERT INTO public.ledger VALUES (16, 1, 'reserve', 0, -200000, 0, 'task_VbqRR88gS9gmk5PP6OIThJALQMLFc7jh', 1, 'sora-2', NULL, 0, 1795479126568);
INSERT INTO public.login_history VALUES (1, 1, 'success', 0, 0, '127.0.0.1', 'lightMyRequest', 1795479124863);
INSERT INTO public.login_history VALUES (2, 1, 'success', 0, 1, '127.0.0.1', 'node', 1795479124881);
INSERT INTO public.login_history VALUES (3, 1, 'success', 0, 1, '127.0.0.1', 'node', 1795479124931);
INSERT INTO public.login_history VALUES (4, 2, 'success', 0, 0, '127.0.0.1', 'lightMyRequest', 1795479126460);
INSERT INTO public.mailboxes VALUES (1, 1, 'studio@mail.localhost', 'studio@mail.localhost', '5b34e7d2ccc6ccfbadf6', 'mailbox', 's1.33903c6a.j3paBccCEBk5l0bA6y0ORn9GtkJgk7GQ8F812qGS7GkACsdzq-5hRSpJHFBseh3Pkh6hqQ', '{SSHA512}Sdj13LU7e+S6SVmpikqkmxouIA7EpC1Pme7j9SzxK7tmjGGgW4GzgakGuTVVFNSVpIj2LIH3XBYs8Q9mn+oOV2GM09w0Ztv6eH2STLs4uaM=', 'active', 1, '1 {SSHA512}Sdj13LU7e+S6SVmpikqkmxouIA7EpC1Pme7j9SzxK7tmjGGgW4GzgakGuTVVFNSVpIj2LIH3XBYs8Q9mn+oOV2GM09w0Ztv6eH2STLs4uaM=', 1795479126411);
INSERT INTO public.meta VALUES ('master_key_check', 'xNTKWqrp7rhf4j1IPqfr8iH6u4ndCG-I60Hjndbw8qs');
INSERT INTO public.models VALUES ('kling-v1', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.2},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v1-5', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v1-6', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v2-master', 'kling', 'video', '{"lines":[{"per_unit":70000,"max_units_per_second":2}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v2-1', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v2-1-master', 'kling', 'video', '{"lines":[{"per_unit":70000,"max_units_per_second":2}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v2-5-turbo', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.3},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.5}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v2-6', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.3},{"when":{"mode":["pro"],"audio":[true]},"per_unit":70000,"max_units_per_second":1},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.5}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v3', 'kling', 'video', '{"lines":[{"when":{"mode":["std"],"audio":[true]},"per_unit":70000,"max_units_per_second":0.9},{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.6},{"when":{"mode":["pro"],"audio":[true]},"per_unit":70000,"max_units_per_second":1.2},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.8},{"when":{"mode":["4k"]},"per_unit":70000,"max_units_per_second":3}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v3-turbo', 'kling', 'video', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.8},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":1}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-v3-omni', 'kling', 'video', '{"lines":[{"when":{"input_video":[true],"mode":["std"]},"per_unit":70000,"max_units_per_second":0.9},{"when":{"input_video":[true],"mode":["pro"]},"per_unit":70000,"max_units_per_second":1.2},{"when":{"mode":["std"],"audio":[true]},"per_unit":70000,"max_units_per_second":0.8},{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.6},{"when":{"mode":["pro"],"audio":[true]},"per_unit":70000,"max_units_per_second":1},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.8},{"when":{"mode":["4k"]},"per_unit":70000,"max_units_per_second":3}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('kling-video-o1', 'kling', 'video', '{"lines":[{"when":{"input_video":[true],"mode":["std"]},"per_unit":70000,"max_units_per_second":0.9},{"when":{"input_video":[true],"mode":["pro"]},"per_unit":70000,"max_units_per_second":1.2},{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.6},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.8}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_v30', 'jimeng', 'video', '{"per_call":0,"per_second":20000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_v30_1080p', 'jimeng', 'video', '{"per_call":0,"per_second":45000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_v30_pro', 'jimeng', 'video', '{"per_call":0,"per_second":71429}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_s20_pro', 'jimeng', 'video', '{"per_call":0,"per_second":46429}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_t2v_v30', 'jimeng', 'video', '{"per_call":0,"per_second":20000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_i2v_first_v30', 'jimeng', 'video', '{"per_call":0,"per_second":20000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_i2v_first_tail_v30', 'jimeng', 'video', '{"per_call":0,"per_second":20000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_i2v_recamera_v30', 'jimeng', 'video', '{"per_call":0,"per_second":20000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_t2v_v30_1080p', 'jimeng', 'video', '{"per_call":0,"per_second":45000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_i2v_first_v30_1080', 'jimeng', 'video', '{"per_call":0,"per_second":45000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_i2v_first_tail_v30_1080', 'jimeng', 'video', '{"per_call":0,"per_second":45000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_ti2v_v30_pro', 'jimeng', 'video', '{"per_call":0,"per_second":71429}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_vgfm_t2v_l20', 'jimeng', 'video', '{"per_call":0,"per_second":46429}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_vgfm_i2v_l20', 'jimeng', 'video', '{"per_call":0,"per_second":46429}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_t2i_v30', 'jimeng', 'image', '{"per_call":14000,"per_second":0}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_t2i_v31', 'jimeng', 'image', '{"per_call":14000,"per_second":0}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_t2i_v40', 'jimeng', 'image', '{"per_call":14000,"per_second":0}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_i2i_v30', 'jimeng', 'image', '{"per_call":14000,"per_second":0}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('jimeng_seedream46_cvtob', 'jimeng', 'image', '{"per_call":16000,"per_second":0}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('MiniMax-Hailuo-2.3', 'hailuo', 'video', '{"lines":[{"when":{"resolution":["768P"],"seconds":[6]},"per_call":140000},{"when":{"resolution":["768P"],"seconds":[10]},"per_call":280000},{"when":{"resolution":["1080P"],"seconds":[6]},"per_call":245000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('MiniMax-Hailuo-2.3-Fast', 'hailuo', 'video', '{"lines":[{"when":{"resolution":["768P"],"seconds":[6]},"per_call":95000},{"when":{"resolution":["768P"],"seconds":[10]},"per_call":160000},{"when":{"resolution":["1080P"],"seconds":[6]},"per_call":165000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('MiniMax-Hailuo-02', 'hailuo', 'video', '{"lines":[{"when":{"resolution":["768P"],"seconds":[6]},"per_call":140000},{"when":{"resolution":["768P"],"seconds":[10]},"per_call":280000},{"when":{"resolution":["1080P"],"seconds":[6]},"per_call":245000},{"when":{"resolution":["512P"],"seconds":[6]},"per_call":50000},{"when":{"resolution":["512P"],"seconds":[10]},"per_call":75000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('T2V-01', 'hailuo', 'video', '{"lines":[{"per_call":215000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('T2V-01-Director', 'hailuo', 'video', '{"lines":[{"per_call":215000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('I2V-01', 'hailuo', 'video', '{"lines":[{"per_call":215000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('I2V-01-Director', 'hailuo', 'video', '{"lines":[{"per_call":215000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('I2V-01-live', 'hailuo', 'video', '{"lines":[{"per_call":215000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('S2V-01', 'hailuo', 'video', '{"lines":[{"per_call":325000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('MiniMax-H3', 'hailuo', 'video', '{"lines":[{"when":{"resolution":["768P"],"input_images":[6]},"per_second":40000,"per_call":20000},{"when":{"resolution":["768P"],"input_images":[7]},"per_second":40000,"per_call":40000},{"when":{"resolution":["768P"],"input_images":[8]},"per_second":40000,"per_call":60000},{"when":{"resolution":["768P"],"input_images":[9]},"per_second":40000,"per_call":80000},{"when":{"resolution":["768P"]},"per_second":40000},{"when":{"resolution":["2K"],"input_images":[6]},"per_second":65000,"per_call":20000},{"when":{"resolution":["2K"],"input_images":[7]},"per_second":65000,"per_call":40000},{"when":{"resolution":["2K"],"input_images":[8]},"per_second":65000,"per_call":60000},{"when":{"resolution":["2K"],"input_images":[9]},"per_second":65000,"per_call":80000},{"when":{"resolution":["2K"]},"per_second":65000}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('MiniMax-H3-Max', 'hailuo', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":25000},{"when":{"resolution":["768P"]},"per_second":40000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-1-0-pro-250528', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":1.071429,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":1.071429,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":1.071429,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-1-0-pro-fast-251015', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":0.3,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":0.3,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":0.3,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-1-0-lite-t2v-250428', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":0.714286,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":0.714286,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":0.714286,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-1-0-lite-i2v-250428', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":0.714286,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":0.714286,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":0.714286,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-1-5-pro-251215', 'seedance', 'video', '{"lines":[{"when":{"audio":[false],"resolution":["480p"]},"per_unit":0.571429,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":1.142857,"max_units":419,"max_units_per_second":10056},{"when":{"audio":[false],"resolution":["720p"]},"per_unit":0.571429,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":1.142857,"max_units":940,"max_units_per_second":22560},{"when":{"audio":[false],"resolution":["1080p"]},"per_unit":0.571429,"max_units":2040,"max_units_per_second":48960},{"when":{"resolution":["1080p"]},"per_unit":1.142857,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-2-0-260128', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":2,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":3.285714,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":2,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":3.285714,"max_units":940,"max_units_per_second":22560},{"when":{"input_video":[true],"resolution":["1080p"]},"per_unit":2.214286,"max_units":736440,"max_units_per_second":48960},{"when":{"resolution":["1080p"]},"per_unit":3.642857,"max_units":2040,"max_units_per_second":48960},{"when":{"input_video":[true],"resolution":["4k"]},"per_unit":1.142857,"max_units":2945760,"max_units_per_second":195840},{"when":{"resolution":["4k"]},"per_unit":1.857143,"max_units":8160,"max_units_per_second":195840}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-2-0-fast-260128', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":1.571429,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":2.642857,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":1.571429,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":2.642857,"max_units":940,"max_units_per_second":22560}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-2-0-mini-260615', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":1,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":1.642857,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":1,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":1.642857,"max_units":940,"max_units_per_second":22560}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('doubao-seedance-2-5-260628', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":3,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":5,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":3,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":5,"max_units":940,"max_units_per_second":22560},{"when":{"input_video":[true],"resolution":["1080p"]},"per_unit":3.285714,"max_units":736440,"max_units_per_second":48960},{"when":{"resolution":["1080p"]},"per_unit":5.5,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('seedance-1-0-pro-250528', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":1.25,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":1.25,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":1.25,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('seedance-1-0-pro-fast-251015', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":0.5,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":0.5,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":0.5,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('happyhorse-1.1-r2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":32143},{"when":{"resolution":["720P"]},"per_second":64286},{"when":{"resolution":["1080P"]},"per_second":85714}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('happyhorse-1.0-t2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":64286},{"when":{"resolution":["1080P"]},"per_second":114286}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('seedance-1-5-pro-251215', 'seedance', 'video', '{"lines":[{"when":{"audio":[false],"resolution":["480p"]},"per_unit":0.6,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":1.2,"max_units":419,"max_units_per_second":10056},{"when":{"audio":[false],"resolution":["720p"]},"per_unit":0.6,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":1.2,"max_units":940,"max_units_per_second":22560},{"when":{"audio":[false],"resolution":["1080p"]},"per_unit":0.6,"max_units":2040,"max_units_per_second":48960},{"when":{"resolution":["1080p"]},"per_unit":1.2,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('dreamina-seedance-2-0-260128', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":2.15,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":3.5,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":2.15,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":3.5,"max_units":940,"max_units_per_second":22560},{"when":{"input_video":[true],"resolution":["1080p"]},"per_unit":2.35,"max_units":736440,"max_units_per_second":48960},{"when":{"resolution":["1080p"]},"per_unit":3.85,"max_units":2040,"max_units_per_second":48960},{"when":{"input_video":[true],"resolution":["4k"]},"per_unit":1.2,"max_units":2945760,"max_units_per_second":195840},{"when":{"resolution":["4k"]},"per_unit":2,"max_units":8160,"max_units_per_second":195840}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('dreamina-seedance-2-0-fast-260128', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":1.65,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":2.8,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":1.65,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":2.8,"max_units":940,"max_units_per_second":22560}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('dreamina-seedance-2-0-mini-260615', 'seedance', 'video', '{"lines":[{"when":{"input_video":[true],"resolution":["480p"]},"per_unit":1.05,"max_units":151259,"max_units_per_second":10056},{"when":{"resolution":["480p"]},"per_unit":1.75,"max_units":419,"max_units_per_second":10056},{"when":{"input_video":[true],"resolution":["720p"]},"per_unit":1.05,"max_units":339340,"max_units_per_second":22560},{"when":{"resolution":["720p"]},"per_unit":1.75,"max_units":940,"max_units_per_second":22560}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('dreamina-seedance-2-5-260628', 'seedance', 'video', '{"lines":[{"when":{"resolution":["480p"]},"per_unit":5.35,"max_units":419,"max_units_per_second":10056},{"when":{"resolution":["720p"]},"per_unit":5.35,"max_units":940,"max_units_per_second":22560},{"when":{"resolution":["1080p"]},"per_unit":5.85,"max_units":2040,"max_units_per_second":48960}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.6-t2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.5-t2v-preview', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":21429},{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.2-t2v-plus', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":10000},{"when":{"resolution":["1080P"]},"per_second":50000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wanx2.1-t2v-turbo', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":17143},{"when":{"resolution":["720P"]},"per_second":17143}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wanx2.1-t2v-plus', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":50000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.6-i2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.6-i2v-flash', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"],"audio":[false]},"per_second":10714},{"when":{"resolution":["1080P"],"audio":[false]},"per_second":17857},{"when":{"resolution":["720P"]},"per_second":21429},{"when":{"resolution":["1080P"]},"per_second":35714}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.5-i2v-preview', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":21429},{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.2-i2v-flash', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":7143},{"when":{"resolution":["720P"]},"per_second":14286},{"when":{"resolution":["1080P"]},"per_second":34286}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.2-i2v-plus', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":10000},{"when":{"resolution":["1080P"]},"per_second":50000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wanx2.1-i2v-turbo', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":17143},{"when":{"resolution":["720P"]},"per_second":17143}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wanx2.1-i2v-plus', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":50000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.2-kf2v-flash', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":7143},{"when":{"resolution":["720P"]},"per_second":14286},{"when":{"resolution":["1080P"]},"per_second":34286}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wanx2.1-kf2v-plus', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":50000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.6-r2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.7-t2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.7-i2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.7-r2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan2.7-videoedit', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":71429}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('happyhorse-1.1-t2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":32143},{"when":{"resolution":["720P"]},"per_second":64286},{"when":{"resolution":["1080P"]},"per_second":85714}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('happyhorse-1.1-i2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":32143},{"when":{"resolution":["720P"]},"per_second":64286},{"when":{"resolution":["1080P"]},"per_second":85714}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('happyhorse-1.0-i2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":64286},{"when":{"resolution":["1080P"]},"per_second":114286}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('happyhorse-1.0-r2v', 'wan', 'video', '{"lines":[{"when":{"resolution":["720P"]},"per_second":64286},{"when":{"resolution":["1080P"]},"per_second":114286}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('wan3.0-video', 'wan', 'video', '{"lines":[{"when":{"resolution":["480P"]},"per_second":21429},{"when":{"resolution":["720P"]},"per_second":42857},{"when":{"resolution":["1080P"]},"per_second":85714}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('gemini-omni-1.2-flash', 'veo', 'video', '{"lines":[{"when":{"resolution":["360p"]},"per_second":11600},{"when":{"resolution":["720p"]},"per_second":34750},{"when":{"resolution":["1080p"]},"per_second":52150},{"when":{"resolution":["4k"]},"per_second":104250}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('gemini-omni-1.1-flash', 'veo', 'video', '{"lines":[{"when":{"resolution":["360p"]},"per_second":15000},{"when":{"resolution":["720p"]},"per_second":50000},{"when":{"resolution":["1080p"]},"per_second":75000},{"when":{"resolution":["4k"]},"per_second":150000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.1-generate-preview', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p","1080p"],"audio":[false]},"per_second":100000},{"when":{"resolution":["720p","1080p"]},"per_second":200000},{"when":{"resolution":["4k"],"audio":[false]},"per_second":200000},{"when":{"resolution":["4k"]},"per_second":300000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.1-fast-generate-preview', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p"],"audio":[false]},"per_second":40000},{"when":{"resolution":["720p"]},"per_second":50000},{"when":{"resolution":["1080p"],"audio":[false]},"per_second":50000},{"when":{"resolution":["1080p"]},"per_second":60000},{"when":{"resolution":["4k"],"audio":[false]},"per_second":125000},{"when":{"resolution":["4k"]},"per_second":150000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.1-lite-generate-preview', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p"],"audio":[false]},"per_second":15000},{"when":{"resolution":["720p"]},"per_second":25000},{"when":{"resolution":["1080p"],"audio":[false]},"per_second":25000},{"when":{"resolution":["1080p"]},"per_second":40000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.1-generate-001', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p","1080p"],"audio":[false]},"per_second":100000},{"when":{"resolution":["720p","1080p"]},"per_second":200000},{"when":{"resolution":["4k"],"audio":[false]},"per_second":200000},{"when":{"resolution":["4k"]},"per_second":300000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.1-fast-generate-001', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p"],"audio":[false]},"per_second":40000},{"when":{"resolution":["720p"]},"per_second":50000},{"when":{"resolution":["1080p"],"audio":[false]},"per_second":50000},{"when":{"resolution":["1080p"]},"per_second":60000},{"when":{"resolution":["4k"],"audio":[false]},"per_second":125000},{"when":{"resolution":["4k"]},"per_second":150000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.1-lite-generate-001', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p"],"audio":[false]},"per_second":15000},{"when":{"resolution":["720p"]},"per_second":25000},{"when":{"resolution":["1080p"],"audio":[false]},"per_second":25000},{"when":{"resolution":["1080p"]},"per_second":40000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.0-generate-001', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p","1080p"],"audio":[false]},"per_second":100000},{"when":{"resolution":["720p","1080p"]},"per_second":200000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-3.0-fast-generate-001', 'veo', 'video', '{"lines":[{"when":{"resolution":["720p","1080p"],"audio":[false]},"per_second":50000},{"when":{"resolution":["720p","1080p"]},"per_second":75000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo-2.0-generate-001', 'veo', 'video', '{"per_call":0,"per_second":250000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq3-pro', 'vidu', 'video', '{"lines":[{"when":{"resolution":["540p"]},"per_unit":2500,"max_units_per_second":14},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units_per_second":30},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units_per_second":32}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq3-turbo', 'vidu', 'video', '{"lines":[{"when":{"resolution":["540p"]},"per_unit":2500,"max_units_per_second":8},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units_per_second":12},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units_per_second":16}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq3-pro-fast', 'vidu', 'video', '{"lines":[{"when":{"resolution":["540p"]},"per_unit":2500,"max_units_per_second":8},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units_per_second":12},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units_per_second":16}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq3-mix', 'vidu', 'video', '{"lines":[{"when":{"resolution":["540p"]},"per_unit":2500,"max_units_per_second":14},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units_per_second":30},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units_per_second":32}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq3', 'vidu', 'video', '{"lines":[{"when":{"resolution":["540p"]},"per_unit":2500,"max_units_per_second":14},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units_per_second":30},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units_per_second":32}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq2', 'vidu', 'video', '{"lines":[{"when":{"input_images":[3,4,5,6,7],"resolution":["540p"]},"per_unit":2500,"max_units":20,"max_units_per_second":5},{"when":{"input_images":[3,4,5,6,7],"resolution":["720p"]},"per_unit":2500,"max_units":20,"max_units_per_second":5},{"when":{"input_images":[3,4,5,6,7],"resolution":["1080p"]},"per_unit":2500,"max_units":65,"max_units_per_second":10},{"when":{"resolution":["540p"]},"per_unit":2500,"max_units":8,"max_units_per_second":2},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units":10,"max_units_per_second":5},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":10,"max_units_per_second":10}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq2-pro', 'vidu', 'video', '{"lines":[{"when":{"resolution":["540p"]},"per_unit":2500,"max_units":5,"max_units_per_second":10},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units":5,"max_units_per_second":10},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":40,"max_units_per_second":15}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq2-pro-fast', 'vidu', 'video', '{"lines":[{"when":{"resolution":["720p"]},"per_unit":2500,"max_units":6,"max_units_per_second":2},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":12,"max_units_per_second":4}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq2-turbo', 'vidu', 'video', '{"lines":[{"when":{"resolution":["720p"],"seconds":[1]},"per_unit":2500,"max_units":8},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units_per_second":10},{"when":{"resolution":["540p"]},"per_unit":2500,"max_units":4,"max_units_per_second":2},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":25,"max_units_per_second":10}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq1', 'vidu', 'video', '{"lines":[{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":80}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('viduq1-classic', 'vidu', 'video', '{"lines":[{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":80}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('vidu2.0', 'vidu', 'video', '{"lines":[{"when":{"input_images":[3,4,5,6,7]},"per_unit":2500,"max_units":80},{"when":{"resolution":["360p"]},"per_unit":2500,"max_units":20},{"when":{"resolution":["720p"],"seconds":[8]},"per_unit":2500,"max_units":100},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units":40},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":100}],"settle_by":"vendor"}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('sora-2', 'sora', 'video', '{"per_call":0,"per_second":50000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('sora-2-pro', 'sora', 'video', '{"lines":[{"when":{"size":["1024x1792","1792x1024"]},"per_second":250000},{"per_second":150000}]}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('gen4.5', 'runway', 'video', '{"per_call":0,"per_second":60000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('gen4_turbo', 'runway', 'video', '{"per_call":0,"per_second":25000}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo3.1', 'runway', 'video', '{"per_call":0,"per_second":200000,"multipliers":{"audio":{"false":0.5}}}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('veo3.1_fast', 'runway', 'video', '{"per_call":0,"per_second":75000,"multipliers":{"audio":{"false":0.666667}}}', NULL, NULL, 'refuse', 1, 1795479124614, 1795479124614);
INSERT INTO public.models VALUES ('sandbox-chat', 'openai', 'chat', '{"input_per_million":1000000,"output_per_million":4000000}', NULL, NULL, 'refuse', 1, 1795479124936, 1795479124936);
INSERT INTO public.notifications VALUES (1, 1, 0, 'system', 'task.finished', 'kling-v1-6: your video is ready', 'A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot', 'kling-v1-6：视频已生成', 'A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot', '/videos/task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', 0, 0, 'task.finished:task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', 1795479126157);
INSERT INTO public.notifications VALUES (2, 1, 0, 'system', 'task.finished', 'sora-2: your video is ready', 'Slow dolly through a sunlit greenhouse, dust in the air, 35 mm film', 'sora-2：视频已生成', 'Slow dolly through a sunlit greenhouse, dust in the air, 35 mm film', '/videos/video_1a20ae53c0c000005', 0, 0, 'task.finished:task_VbqRQjnw0a4giqGGlR4Ol1hPHGOJmalG', 1795479126169);
INSERT INTO public.notifications VALUES (3, 1, 0, 'system', 'task.finished', 'viduq2: your video is ready', 'A red fox leaps through fresh snow in slow motion', 'viduq2：视频已生成', 'A red fox leaps through fresh snow in slow motion', '/videos/task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', 0, 0, 'task.finished:task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', 1795479126178);
INSERT INTO public.notifications VALUES (4, 1, 0, 'system', 'task.failed', 'kling-v1-6: the video failed', 'The vendor could not generate this video. It was not charged. Try again or change the prompt. If it keeps failing, contact support.', 'kling-v1-6：视频生成失败', '供应商未能生成该视频。未扣费。请重试或修改提示词。若仍然失败，请联系支持人员。', '/videos/task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', 0, 0, 'task.failed:task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', 1795479126186);
INSERT INTO public.notifications VALUES (5, 1, 0, 'system', 'device.new', 'New device signed in', 'Reelgate CLI (“Edit suite”) was allowed to sign in from 127.0.0.1. If this was not you, sign it out in the list of devices and change your password.', '新设备已登录', '已允许 Reelgate CLI (“Edit suite”) 从 127.0.0.1 登录。如果不是您本人操作，请在设备列表中结束该登录并修改密码。', '/account/devices', 1, 0, 'device.new:1', 1795479126351);
INSERT INTO public.notifications VALUES (6, 1, 0, 'ticket_reply', 'ticket', 'Reply to “The colours of my last video are off”', 'Thank you for the report. The vendor has changed its model overnight; a seed of yesterday gives the old look.', '“The colours of my last video are off”有新回复', 'Thank you for the report. The vendor has changed its model overnight; a seed of yesterday gives the old look.', '/tickets/1', 1, 0, NULL, 1795479126371);
INSERT INTO public.notifications VALUES (7, 1, 0, 'beta_result', 'beta', 'Beta access to Side-by-side comparison', 'Your application was approved.
Have fun.', '内测申请结果：Side-by-side comparison', '您的申请已通过。
Have fun.', '/beta-applications', 1, 0, NULL, 1795479126383);
INSERT INTO public.passwords VALUES (1, '$argon2id$v=19$m=64,t=1,p=1$DcjIlZb6+dh3CGPTAn4Maw$IYD8XPOj5UVViu2FvXTkdlpGK/5shNv9SEOhDfw1hmU', 1795479124609, 0);
INSERT INTO public.passwords VALUES (2, '$argon2id$v=19$m=64,t=1,p=1$+S491bS8qskaSb8NkalWCw$IV4bmmqCWJbyUiQrJ2KXo8C6eyK4qAzjgNLwTG5jfFA', 1795479126447, 0);
INSERT INTO public.plans VALUES (1, 'none', 'No plan', '', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, '[]', 1, '[]', NULL, NULL, 1795479124508);
INSERT INTO public.plans VALUES (2, 'start', 'Start', 'For people who make videos every day.', 1, 9, 1, 1000000, 30, 0, 0, 5000000, 0, 1, '[]', 1, '[]', NULL, NULL, 1795479126313);
INSERT INTO public.plans VALUES (3, 'studio', 'Studio', 'For people who make videos every day.', 2, 29, 1, 5000000, 30, 0, 0, 25000000, 0, 1, '[]', 1, '[]', NULL, NULL, 1795479126316);
INSERT INTO public.plans VALUES (4, 'house', 'Production house', 'For people who make videos every day.', 3, 99, 1, 20000000, 30, 0, 0, 100000000, 0, 1, '[]', 1, '[]', NULL, NULL, 1795479126322);
INSERT INTO public.rate_limits VALUES ('redeem-account:1', 0, 1795482726330);
INSERT INTO public.rate_limits VALUES ('redeem-address:127.0.0.1', 0, 1795482726331);
INSERT INTO public.rate_limits VALUES ('device-codes-address:127.0.0.1', 1, 1795479726339);
INSERT INTO public.rate_limits VALUES ('device-codes-client:reelgate-cli', 1, 1795479726340);
INSERT INTO public.rate_limits VALUES ('support-writings:1', 4, 1795565526365);
INSERT INTO public.rate_limits VALUES ('phone-account:1', 1, 1795482726388);
INSERT INTO public.rate_limits VALUES ('phone-number:+4915112345678', 1, 1795565526388);
INSERT INTO public.rate_limits VALUES ('phone-all:all', 1, 1795482726389);
INSERT INTO public.rate_limits VALUES ('mailbox-apply:1', 1, 1795482726399);
INSERT INTO public.rate_limits VALUES ('mailbox-app-password:1', 1, 1795482726431);
INSERT INTO public.rate_limits VALUES ('registration-address:127.0.0.1', 1, 1795482726444);
INSERT INTO public.rate_limits VALUES ('password-address:127.0.0.1', 0, 1795480024850);
INSERT INTO public.redemption_batches VALUES (1, '', 1, 1795479126326);
INSERT INTO public.redemption_codes VALUES (1, 1, '4fe6adc07bdb5f6469b2e6a804917f5ee4dabe40464174a92bcb7dfa7a02498f', 'RNQ7Y-…-BA4N', 3, 0, 'used', NULL, 1, 1795479126332, 1795479126326);
INSERT INTO public.requests_rest VALUES (1, 'task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', 1, 0, 1, 'video', 'kling-v1-6', 'kling-v1-6', 'ok', '', 0, 0, 0, 5, 140000, 140000, 1157, NULL, 0, 'lightMyRequest', '{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"}', '{"mode":"std","audio":"false","input_video":"false","input_images":0,"seconds":5,"units":2}', 1795479126147);
INSERT INTO public.requests_rest VALUES (2, 'task_VbqRQjnw0a4giqGGlR4Ol1hPHGOJmalG', 1, 0, 2, 'video', 'sora-2', 'sora-2', 'ok', '', 0, 0, 0, 8, 400000, 400000, 1145, NULL, 0, 'lightMyRequest', '{"per_call":0,"per_second":50000}', '{"seconds":8,"size":"720x1280"}', 1795479126151);
INSERT INTO public.requests_rest VALUES (3, 'task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', 1, 0, 4, 'video', 'viduq2', 'viduq2', 'ok', '', 0, 0, 0, 4, 125000, 125000, 1138, NULL, 0, 'lightMyRequest', '{"lines":[{"when":{"input_images":[3,4,5,6,7],"resolution":["540p"]},"per_unit":2500,"max_units":20,"max_units_per_second":5},{"when":{"input_images":[3,4,5,6,7],"resolution":["720p"]},"per_unit":2500,"max_units":20,"max_units_per_second":5},{"when":{"input_images":[3,4,5,6,7],"resolution":["1080p"]},"per_unit":2500,"max_units":65,"max_units_per_second":10},{"when":{"resolution":["540p"]},"per_unit":2500,"max_units":8,"max_units_per_second":2},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units":10,"max_units_per_second":5},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":10,"max_units_per_second":10}],"settle_by":"vendor"}', '{"resolution":"1080p","input_video":"false","input_images":0,"seconds":4,"units":50}', 1795479126155);
INSERT INTO public.requests_rest VALUES (4, 'task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', 1, 0, 1, 'video', 'kling-v1-6', 'kling-v1-6', 'failed', 'unknown', 0, 0, 0, 0, 0, 140000, 1129, NULL, 0, 'lightMyRequest', '', '', 1795479126155);
INSERT INTO public.reservations VALUES ('task_VbqRR88STvKLq45YF5bLWCeDzT4Rkd2X', 1, 1, 'kling-v1-6', 140000, 140000, '1.1.day1795478400000.week1795479126332', 1795479126525);
INSERT INTO public.reservations VALUES ('task_VbqRR88XbIVWSCfKEBL7KW94GuVWpX9R', 1, 1, 'sora-2', 200000, 200000, '1.1.day1795478400000.week1795479126332', 1795479126535);
INSERT INTO public.reservations VALUES ('task_VbqRR88yESairynVrdCDwQA0uUj6w30s', 1, 1, 'kling-v1-6', 140000, 140000, '1.1.day1795478400000.week1795479126332', 1795479126543);
INSERT INTO public.reservations VALUES ('task_VbqRR89nB7MI6wc3iEevUi7wyYvWqYTf', 1, 1, 'sora-2', 200000, 200000, '1.1.day1795478400000.week1795479126332', 1795479126552);
INSERT INTO public.reservations VALUES ('task_VbqRR88fi0BCUCbb22lGg6s5hWb9SCo1', 1, 1, 'kling-v1-6', 140000, 140000, '1.1.day1795478400000.week1795479126332', 1795479126561);
INSERT INTO public.reservations VALUES ('task_VbqRR88gS9gmk5PP6OIThJALQMLFc7jh', 1, 1, 'sora-2', 200000, 200000, '1.1.day1795478400000.week1795479126332', 1795479126568);
INSERT INTO public.schema_migrations VALUES ('0001-meta', 1795479124192);
INSERT INTO public.schema_migrations VALUES ('0001-rate-limits', 1795479124205);
INSERT INTO public.schema_migrations VALUES ('0005-mail', 1795479124216);
INSERT INTO public.schema_migrations VALUES ('0002-accounts', 1795479124273);
INSERT INTO public.schema_migrations VALUES ('0005-device-auth', 1795479124297);
INSERT INTO public.schema_migrations VALUES ('0010-quota', 1795479124321);
INSERT INTO public.schema_migrations VALUES ('0075-requests', 1795479124336);
INSERT INTO public.schema_migrations VALUES ('0077-budgets', 1795479124344);
INSERT INTO public.schema_migrations VALUES ('0078-instances', 1795479124351);
INSERT INTO public.schema_migrations VALUES ('0020-channels', 1795479124368);
INSERT INTO public.schema_migrations VALUES ('0030-video', 1795479124414);
INSERT INTO public.schema_migrations VALUES ('0040-mailboxes', 1795479124430);
INSERT INTO public.schema_migrations VALUES ('0060-notifications', 1795479124456);
INSERT INTO public.schema_migrations VALUES ('0065-events', 1795479124467);
INSERT INTO public.schema_migrations VALUES ('0068-artifacts', 1795479124477);
INSERT INTO public.schema_migrations VALUES ('0066-webhooks', 1795479124503);
INSERT INTO public.schema_migrations VALUES ('0070-plans', 1795479124520);
INSERT INTO public.schema_migrations VALUES ('0080-support', 1795479124532);
INSERT INTO public.schema_migrations VALUES ('0090-imports', 1795479124538);
INSERT INTO public.schema_migrations VALUES ('0100-site', 1795479124542);
INSERT INTO public.schema_migrations VALUES ('0110-charge-calls', 1795479124546);
INSERT INTO public.seeded_models VALUES ('kling-v1');
INSERT INTO public.seeded_models VALUES ('kling-v1-5');
INSERT INTO public.seeded_models VALUES ('kling-v1-6');
INSERT INTO public.seeded_models VALUES ('kling-v2-master');
INSERT INTO public.seeded_models VALUES ('kling-v2-1');
INSERT INTO public.seeded_models VALUES ('kling-v2-1-master');
INSERT INTO public.seeded_models VALUES ('kling-v2-5-turbo');
INSERT INTO public.seeded_models VALUES ('kling-v2-6');
INSERT INTO public.seeded_models VALUES ('kling-v3');
INSERT INTO public.seeded_models VALUES ('kling-v3-turbo');
INSERT INTO public.seeded_models VALUES ('kling-v3-omni');
INSERT INTO public.seeded_models VALUES ('kling-video-o1');
INSERT INTO public.seeded_models VALUES ('jimeng_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_v30_1080p');
INSERT INTO public.seeded_models VALUES ('jimeng_v30_pro');
INSERT INTO public.seeded_models VALUES ('jimeng_s20_pro');
INSERT INTO public.seeded_models VALUES ('jimeng_t2v_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_i2v_first_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_i2v_first_tail_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_i2v_recamera_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_t2v_v30_1080p');
INSERT INTO public.seeded_models VALUES ('jimeng_i2v_first_v30_1080');
INSERT INTO public.seeded_models VALUES ('jimeng_i2v_first_tail_v30_1080');
INSERT INTO public.seeded_models VALUES ('jimeng_ti2v_v30_pro');
INSERT INTO public.seeded_models VALUES ('jimeng_vgfm_t2v_l20');
INSERT INTO public.seeded_models VALUES ('jimeng_vgfm_i2v_l20');
INSERT INTO public.seeded_models VALUES ('jimeng_t2i_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_t2i_v31');
INSERT INTO public.seeded_models VALUES ('jimeng_t2i_v40');
INSERT INTO public.seeded_models VALUES ('jimeng_i2i_v30');
INSERT INTO public.seeded_models VALUES ('jimeng_seedream46_cvtob');
INSERT INTO public.seeded_models VALUES ('MiniMax-Hailuo-2.3');
INSERT INTO public.seeded_models VALUES ('MiniMax-Hailuo-2.3-Fast');
INSERT INTO public.seeded_models VALUES ('MiniMax-Hailuo-02');
INSERT INTO public.seeded_models VALUES ('T2V-01');
INSERT INTO public.seeded_models VALUES ('T2V-01-Director');
INSERT INTO public.seeded_models VALUES ('I2V-01');
INSERT INTO public.seeded_models VALUES ('I2V-01-Director');
INSERT INTO public.seeded_models VALUES ('I2V-01-live');
INSERT INTO public.seeded_models VALUES ('S2V-01');
INSERT INTO public.seeded_models VALUES ('MiniMax-H3');
INSERT INTO public.seeded_models VALUES ('MiniMax-H3-Max');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-1-0-pro-250528');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-1-0-pro-fast-251015');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-1-0-lite-t2v-250428');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-1-0-lite-i2v-250428');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-1-5-pro-251215');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-2-0-260128');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-2-0-fast-260128');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-2-0-mini-260615');
INSERT INTO public.seeded_models VALUES ('doubao-seedance-2-5-260628');
INSERT INTO public.seeded_models VALUES ('seedance-1-0-pro-250528');
INSERT INTO public.seeded_models VALUES ('seedance-1-0-pro-fast-251015');
INSERT INTO public.seeded_models VALUES ('seedance-1-5-pro-251215');
INSERT INTO public.seeded_models VALUES ('dreamina-seedance-2-0-260128');
INSERT INTO public.seeded_models VALUES ('dreamina-seedance-2-0-fast-260128');
INSERT INTO public.seeded_models VALUES ('dreamina-seedance-2-0-mini-260615');
INSERT INTO public.seeded_models VALUES ('dreamina-seedance-2-5-260628');
INSERT INTO public.seeded_models VALUES ('wan2.6-t2v');
INSERT INTO public.seeded_models VALUES ('wan2.5-t2v-preview');
INSERT INTO public.seeded_models VALUES ('wan2.2-t2v-plus');
INSERT INTO public.seeded_models VALUES ('wanx2.1-t2v-turbo');
INSERT INTO public.seeded_models VALUES ('wanx2.1-t2v-plus');
INSERT INTO public.seeded_models VALUES ('wan2.6-i2v');
INSERT INTO public.seeded_models VALUES ('wan2.6-i2v-flash');
INSERT INTO public.seeded_models VALUES ('wan2.5-i2v-preview');
INSERT INTO public.seeded_models VALUES ('wan2.2-i2v-flash');
INSERT INTO public.seeded_models VALUES ('wan2.2-i2v-plus');
INSERT INTO public.seeded_models VALUES ('wanx2.1-i2v-turbo');
INSERT INTO public.seeded_models VALUES ('wanx2.1-i2v-plus');
INSERT INTO public.seeded_models VALUES ('wan2.2-kf2v-flash');
INSERT INTO public.seeded_models VALUES ('wanx2.1-kf2v-plus');
INSERT INTO public.seeded_models VALUES ('wan2.6-r2v');
INSERT INTO public.seeded_models VALUES ('wan2.7-t2v');
INSERT INTO public.seeded_models VALUES ('wan2.7-i2v');
INSERT INTO public.seeded_models VALUES ('wan2.7-r2v');
INSERT INTO public.seeded_models VALUES ('wan2.7-videoedit');
INSERT INTO public.seeded_models VALUES ('happyhorse-1.1-t2v');
INSERT INTO public.seeded_models VALUES ('happyhorse-1.1-i2v');
INSERT INTO public.seeded_models VALUES ('happyhorse-1.1-r2v');
INSERT INTO public.seeded_models VALUES ('happyhorse-1.0-t2v');
INSERT INTO public.seeded_models VALUES ('happyhorse-1.0-i2v');
INSERT INTO public.seeded_models VALUES ('happyhorse-1.0-r2v');
INSERT INTO public.seeded_models VALUES ('wan3.0-video');
INSERT INTO public.seeded_models VALUES ('gemini-omni-1.2-flash');
INSERT INTO public.seeded_models VALUES ('gemini-omni-1.1-flash');
INSERT INTO public.seeded_models VALUES ('veo-3.1-generate-preview');
INSERT INTO public.seeded_models VALUES ('veo-3.1-fast-generate-preview');
INSERT INTO public.seeded_models VALUES ('veo-3.1-lite-generate-preview');
INSERT INTO public.seeded_models VALUES ('veo-3.1-generate-001');
INSERT INTO public.seeded_models VALUES ('veo-3.1-fast-generate-001');
INSERT INTO public.seeded_models VALUES ('veo-3.1-lite-generate-001');
INSERT INTO public.seeded_models VALUES ('veo-3.0-generate-001');
INSERT INTO public.seeded_models VALUES ('veo-3.0-fast-generate-001');
INSERT INTO public.seeded_models VALUES ('veo-2.0-generate-001');
INSERT INTO public.seeded_models VALUES ('viduq3-pro');
INSERT INTO public.seeded_models VALUES ('viduq3-turbo');
INSERT INTO public.seeded_models VALUES ('viduq3-pro-fast');
INSERT INTO public.seeded_models VALUES ('viduq3-mix');
INSERT INTO public.seeded_models VALUES ('viduq3');
INSERT INTO public.seeded_models VALUES ('viduq2');
INSERT INTO public.seeded_models VALUES ('viduq2-pro');
INSERT INTO public.seeded_models VALUES ('viduq2-pro-fast');
INSERT INTO public.seeded_models VALUES ('viduq2-turbo');
INSERT INTO public.seeded_models VALUES ('viduq1');
INSERT INTO public.seeded_models VALUES ('viduq1-classic');
INSERT INTO public.seeded_models VALUES ('vidu2.0');
INSERT INTO public.seeded_models VALUES ('sora-2');
INSERT INTO public.seeded_models VALUES ('sora-2-pro');
INSERT INTO public.seeded_models VALUES ('gen4.5');
INSERT INTO public.seeded_models VALUES ('gen4_turbo');
INSERT INTO public.seeded_models VALUES ('veo3.1');
INSERT INTO public.seeded_models VALUES ('veo3.1_fast');
INSERT INTO public.sessions VALUES (1, '3fc37094b85eb1dd029701eab609c5484995c7ea3c5132ee7ac61e44053d0184', 1, '127.0.0.1', 'lightMyRequest', 1795479124865, 1795479124865, 1796083924865);
INSERT INTO public.sessions VALUES (2, '00d6160ba5985509b9c0eaff73473119c2dd9b791c4bb392aa808b029e2cca26', 1, '127.0.0.1', 'node', 1795479124881, 1795479124881, 1796083924881);
INSERT INTO public.sessions VALUES (3, '8ab8da2298618597e5e7412466a0a07db8c0ad9a3cc60044ebf5f79913f0714e', 1, '127.0.0.1', 'node', 1795479124931, 1795479124931, 1796083924931);
INSERT INTO public.sessions VALUES (4, 'cd6b8b2b77059c4bea6e247824a915e335c3cf55ab72e2bf19ff698b46578bc2', 2, '127.0.0.1', 'lightMyRequest', 1795479126460, 1795479126460, 1796083926460);
INSERT INTO public.subscriptions VALUES (1, 1, 3, 'active', 30, 1795479126332, 1798071126332, 0, 'code:1', 1795479126332);
INSERT INTO public.tasks VALUES (1, 'task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', 'task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK', 1, 0, 1, 1, 'kling', 'kling-v1-6', 'kling-v1-6', 'textGenerate', 'SUCCESS', 100, 1, 140000, '{"price":{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"},"facts":{"mode":"std","audio":"false","input_video":"false","input_images":0,"seconds":5}}', 'lightMyRequest', 'A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot', '{"model":"kling-v1-6","prompt":"A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot"}', '{"code":0,"message":"SUCCEED","request_id":"Cj00000000000h","data":{"task_id":"Cj00000000000dmwtxwveq","task_status":"succeed","task_status_msg":"","task_info":{"external_task_id":"task_VbqRQjXQmTOHbTy1QF8JgE2WChhayPsK"},"watermark_info":{"enabled":false},"created_at":1795479124994,"updated_at":1795479126137,"final_unit_deduction":"2","task_result":{"videos":[{"id":"v-Cj00000000000dmwtxwveq","url":"http://127.0.0.1:35967/kling/Cj00000000000dmwtxwveq/wide.mp4","duration":"5.1"}]}}}', '{"family":"text2video","id":"Cj00000000000dmwtxwveq"}', '"text2video"', '{"kind":"url","url":"http://127.0.0.1:35967/kling/Cj00000000000dmwtxwveq/wide.mp4"}', '', '', '', NULL, NULL, NULL, NULL, 1795479124988, 1795479124999, 0, 1795479126143, 1795479126143, NULL, 0, 0, 1);
INSERT INTO public.tasks VALUES (2, 'task_VbqRQjnw0a4giqGGlR4Ol1hPHGOJmalG', 'video_1a20ae53c0c000005', 1, 0, 2, 1, 'sora', 'sora-2', 'sora-2', 'textGenerate', 'SUCCESS', 100, 1, 400000, '{"price":{"per_call":0,"per_second":50000},"facts":{"seconds":8,"size":"720x1280"}}', 'lightMyRequest', 'Slow dolly through a sunlit greenhouse, dust in the air, 35 mm film', '{"model":"sora-2","prompt":"Slow dolly through a sunlit greenhouse, dust in the air, 35 mm film","seconds":"8"}', '{"id":"video_1a20ae53c0c000005","object":"video","model":"sora-2","status":"completed","progress":100,"created_at":1795479125,"completed_at":1795479125,"expires_at":1795482725,"prompt":"Slow dolly through a sunlit greenhouse, dust in the air, 35 mm film","size":"720x1280","seconds":"8","remixed_from_video_id":null,"error":null}', '{"id":"video_1a20ae53c0c000005"}', NULL, '{"kind":"protected"}', '', '', '', NULL, NULL, NULL, NULL, 1795479125003, 1795479125009, 0, 1795479126146, 1795479126146, NULL, 0, 0, 1);
INSERT INTO public.tasks VALUES (4, 'task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', 'task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n', 1, 0, 1, 1, 'kling', 'kling-v1-6', 'kling-v1-6', 'textGenerate', 'FAILURE', 100, 1, 140000, '{"price":{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"},"facts":{"mode":"std","audio":"false","input_video":"false","input_images":0,"seconds":5}}', 'lightMyRequest', 'A clock melts on a table [fail]', '{"model":"kling-v1-6","prompt":"A clock melts on a table [fail]","metadata":{"negative_prompt":"people"}}', '{"code":0,"message":"SUCCEED","request_id":"Cj00000000000i","data":{"task_id":"Cj00000000000fmwtxwvfn","task_status":"failed","task_status_msg":"Task processing failed, please try again","task_info":{"external_task_id":"task_VbqRQk7Bh7WE6e5nl9Qk3pl5nyvLZs6n"},"watermark_info":{"enabled":false},"created_at":1795479125027,"updated_at":1795479126141}}', '{"family":"text2video","id":"Cj00000000000fmwtxwvfn"}', '"text2video"', NULL, 'unknown', 'Task processing failed, please try again', '', NULL, NULL, NULL, NULL, 1795479125024, 1795479125031, 0, 1795479126151, 1795479126151, NULL, 0, 0, 1);
INSERT INTO public.tasks VALUES (8, 'task_VbqRR89nB7MI6wc3iEevUi7wyYvWqYTf', 'video_1a20ae54217000007', 1, 1, 2, 1, 'sora', 'sora-2', 'sora-2', 'textGenerate', 'SUBMITTED', 10, 1, 200000, '{"price":{"per_call":0,"per_second":50000},"facts":{"seconds":4,"size":"720x1280"}}', 'node', 'under way task 5 [fail]', '{"model":"sora-2","prompt":"under way task 5 [fail]"}', '{"id":"video_1a20ae54217000007","object":"video","model":"sora-2","status":"queued","progress":0,"created_at":1795479126,"completed_at":null,"expires_at":null,"prompt":"under way task 5 [fail]","size":"720x1280","seconds":"4","remixed_from_video_id":null,"error":null}', '{"id":"video_1a20ae54217000007"}', NULL, NULL, '', '', '', NULL, NULL, NULL, NULL, 1795479126515, 1795479126555, 0, 0, 1795479126555, 1795479127555, 0, 0, 1);
INSERT INTO public.tasks VALUES (3, 'task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', 'task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD', 1, 0, 4, 1, 'vidu', 'viduq2', 'viduq2', 'textGenerate', 'SUCCESS', 100, 1, 125000, '{"price":{"lines":[{"when":{"input_images":[3,4,5,6,7],"resolution":["540p"]},"per_unit":2500,"max_units":20,"max_units_per_second":5},{"when":{"input_images":[3,4,5,6,7],"resolution":["720p"]},"per_unit":2500,"max_units":20,"max_units_per_second":5},{"when":{"input_images":[3,4,5,6,7],"resolution":["1080p"]},"per_unit":2500,"max_units":65,"max_units_per_second":10},{"when":{"resolution":["540p"]},"per_unit":2500,"max_units":8,"max_units_per_second":2},{"when":{"resolution":["720p"]},"per_unit":2500,"max_units":10,"max_units_per_second":5},{"when":{"resolution":["1080p"]},"per_unit":2500,"max_units":10,"max_units_per_second":10}],"settle_by":"vendor"},"facts":{"resolution":"1080p","input_video":"false","input_images":0,"seconds":4}}', 'lightMyRequest', 'A red fox leaps through fresh snow in slow motion', '{"model":"viduq2","prompt":"A red fox leaps through fresh snow in slow motion","duration":4}', '{"id":"899179547912500002","state":"success","err_code":"","credits":50,"payload":"task_VbqRQjxDvIqFtgNmpXjcwJZ0pfk5cHsD","bgm":false,"off_peak":false,"creations":[{"id":"8991795479125000020","url":"http://127.0.0.1:35967/vidu/899179547912500002/wide.mp4","cover_url":"http://127.0.0.1:35967/vidu/899179547912500002/thumbnail.webp","watermarked_url":""}]}', '{"id":"899179547912500002"}', NULL, '{"kind":"url","url":"http://127.0.0.1:35967/vidu/899179547912500002/wide.mp4"}', '', '', '', NULL, NULL, NULL, NULL, 1795479125014, 1795479125020, 0, 1795479126147, 1795479126147, NULL, 0, 0, 1);
INSERT INTO public.tasks VALUES (5, 'task_VbqRR88STvKLq45YF5bLWCeDzT4Rkd2X', 'task_VbqRR88STvKLq45YF5bLWCeDzT4Rkd2X', 1, 1, 1, 1, 'kling', 'kling-v1-6', 'kling-v1-6', 'textGenerate', 'SUBMITTED', 10, 1, 140000, '{"price":{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"},"facts":{"mode":"std","audio":"false","input_video":"false","input_images":0,"seconds":5}}', 'node', 'under way task 2 [fail]', '{"model":"kling-v1-6","prompt":"under way task 2 [fail]"}', '{"code":0,"message":"SUCCEED","request_id":"Cj00000000000k","data":{"task_id":"Cj00000000000jmwtxwwl9","task_status":"submitted","task_info":{"external_task_id":"task_VbqRR88STvKLq45YF5bLWCeDzT4Rkd2X"},"created_at":1795479126525,"updated_at":1795479126525}}', '{"family":"text2video","id":"Cj00000000000jmwtxwwl9"}', '"text2video"', NULL, '', '', '', NULL, NULL, NULL, NULL, 1795479126513, 1795479126530, 0, 0, 1795479126530, 1795479127530, 0, 0, 1);
INSERT INTO public.tasks VALUES (6, 'task_VbqRR88XbIVWSCfKEBL7KW94GuVWpX9R', 'video_1a20ae54205000006', 1, 1, 2, 1, 'sora', 'sora-2', 'sora-2', 'textGenerate', 'SUBMITTED', 10, 1, 200000, '{"price":{"per_call":0,"per_second":50000},"facts":{"seconds":4,"size":"720x1280"}}', 'node', 'under way task 3 ', '{"model":"sora-2","prompt":"under way task 3 "}', '{"id":"video_1a20ae54205000006","object":"video","model":"sora-2","status":"queued","progress":0,"created_at":1795479126,"completed_at":null,"expires_at":null,"prompt":"under way task 3 ","size":"720x1280","seconds":"4","remixed_from_video_id":null,"error":null}', '{"id":"video_1a20ae54205000006"}', NULL, NULL, '', '', '', NULL, NULL, NULL, NULL, 1795479126513, 1795479126538, 0, 0, 1795479126538, 1795479127538, 0, 0, 1);
INSERT INTO public.tasks VALUES (7, 'task_VbqRR88yESairynVrdCDwQA0uUj6w30s', 'task_VbqRR88yESairynVrdCDwQA0uUj6w30s', 1, 1, 1, 1, 'kling', 'kling-v1-6', 'kling-v1-6', 'textGenerate', 'SUBMITTED', 10, 1, 140000, '{"price":{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"},"facts":{"mode":"std","audio":"false","input_video":"false","input_images":0,"seconds":5}}', 'node', 'under way task 4 ', '{"model":"kling-v1-6","prompt":"under way task 4 "}', '{"code":0,"message":"SUCCEED","request_id":"Cj00000000000m","data":{"task_id":"Cj00000000000lmwtxwwlr","task_status":"submitted","task_info":{"external_task_id":"task_VbqRR88yESairynVrdCDwQA0uUj6w30s"},"created_at":1795479126543,"updated_at":1795479126543}}', '{"family":"text2video","id":"Cj00000000000lmwtxwwlr"}', '"text2video"', NULL, '', '', '', NULL, NULL, NULL, NULL, 1795479126514, 1795479126547, 0, 0, 1795479126547, 1795479127547, 0, 0, 1);
INSERT INTO public.tasks VALUES (9, 'task_VbqRR88fi0BCUCbb22lGg6s5hWb9SCo1', 'task_VbqRR88fi0BCUCbb22lGg6s5hWb9SCo1', 1, 1, 1, 1, 'kling', 'kling-v1-6', 'kling-v1-6', 'textGenerate', 'SUBMITTED', 10, 1, 140000, '{"price":{"lines":[{"when":{"mode":["std"]},"per_unit":70000,"max_units_per_second":0.4},{"when":{"mode":["pro"]},"per_unit":70000,"max_units_per_second":0.7}],"settle_by":"vendor"},"facts":{"mode":"std","audio":"false","input_video":"false","input_images":0,"seconds":5}}', 'node', 'under way task 0 ', '{"model":"kling-v1-6","prompt":"under way task 0 "}', '{"code":0,"message":"SUCCEED","request_id":"Cj00000000000o","data":{"task_id":"Cj00000000000nmwtxwwm8","task_status":"submitted","task_info":{"external_task_id":"task_VbqRR88fi0BCUCbb22lGg6s5hWb9SCo1"},"created_at":1795479126560,"updated_at":1795479126560}}', '{"family":"text2video","id":"Cj00000000000nmwtxwwm8"}', '"text2video"', NULL, '', '', '', NULL, NULL, NULL, NULL, 1795479126513, 1795479126565, 0, 0, 1795479126565, 1795479127565, 0, 0, 1);
INSERT INTO public.tasks VALUES (10, 'task_VbqRR88gS9gmk5PP6OIThJALQMLFc7jh', 'video_1a20ae54226000008', 1, 1, 2, 1, 'sora', 'sora-2', 'sora-2', 'textGenerate', 'SUBMITTED', 10, 1, 200000, '{"price":{"per_call":0,"per_second":50000},"facts":{"seconds":4,"size":"720x1280"}}', 'node', 'under way task 1 ', '{"model":"sora-2","prompt":"under way task 1 "}', '{"id":"video_1a20ae54226000008","object":"video","model":"sora-2","status":"queued","progress":0,"created_at":1795479126,"completed_at":null,"expires_at":null,"prompt":"under way task 1 ","size":"720x1280","seconds":"4","remixed_from_video_id":null,"error":null}', '{"id":"video_1a20ae54226000008"}', NULL, NULL, '', '', '', NULL, NULL, NULL, NULL, 1795479126513, 1795479126570, 0, 0, 1795479126570, 1795479127570, 0, 0, 1);
INSERT INTO public.ticket_replies VALUES (1, 1, 1, 1, 0, 'Thank you for the report. The vendor has changed its model overnight; a seed of yesterday gives the old look.', '', 1795479126369);
INSERT INTO public.tickets VALUES (1, 1, 'The colours of my last video are off', 'The greenhouse came out much too green. The same prompt was fine yesterday.', 'video', '', 'open', 0, 1, 1, 1795479126366, 1795479126369);
INSERT INTO public.tickets VALUES (2, 1, 'May I have an invoice?', 'For November, please.', '', '', 'open', 1, 0, 0, 1795479126374, 1795479126374);
INSERT INTO public.token_limits VALUES (2, 5000000, 0);
INSERT INTO public.tokens VALUES (2, 'sk', 1, 'render farm', '83f231bed1c3e6975f1c51d13eea6cdb44380d7d740d931eed0bac49bef4db81', 'sk-kcm6', '["kling-v1-6","sora-2"]', NULL, NULL, NULL, NULL, NULL, NULL, 1795479124970, NULL, NULL);
INSERT INTO public.tokens VALUES (3, 'sk', 1, 'notebook', '317704d4ed09509f450838ee3bad5b0665f8733fe2945c8fa35066757a6ce8d3', 'sk-LAtc', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795479124980, NULL, NULL);
INSERT INTO public.tokens VALUES (4, 'llm', 1, 'Edit suite', 'e1586f7890e339ca04a7259f236f6d0fc4ee83f25882f3877af722b604477068', 'sk-88YR', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795479126359, NULL, NULL);
INSERT INTO public.tokens VALUES (1, 'sk', 1, 'test', 'b7b7560640d17b551711d9cdecd7279955053b6e397a99f0db7311b59fe304ba', 'sk-7ONQ', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795479124918, 1795479126575, NULL);
INSERT INTO public.usage_daily VALUES (1, 20781, 0, 'kling-v1-6', 1, 1, 140000, 0, 0);
INSERT INTO public.usage_daily VALUES (1, 20781, 0, 'sora-2', 2, 1, 400000, 0, 0);
INSERT INTO public.usage_daily VALUES (1, 20781, 0, 'viduq2', 4, 1, 125000, 0, 0);
INSERT INTO public.wallets VALUES (1, 10049335000, 665000, 3);
INSERT INTO public.wallets VALUES (2, 0, 0, 0);
INSERT INTO public.webhook_endpoints VALUES (1, 's1.33903c6a.h8LU2nME7utGt7BZLp_vCLKkorfBLxw8nJ_err7M4IMdMcTOSMmC0kge_uvKdyNFFn8vvyzeH6oRoQ99GgNFsUC7BaLSjqxNqYQIN0Ac', NULL, 0, 'aeKs4YaxnqH2X9bJvRDA', 2, 'https://example.com/hook', '[]', '', 'standard', 1, '', NULL, 1795479126497);
SELECT pg_catalog.setval('public.accounts_id_seq', 2, true);
SELECT pg_catalog.setval('public.audit_log_id_seq', 18, true);
SELECT pg_catalog.setval('public.beta_applications_id_seq', 2, true);
SELECT pg_catalog.setval('public.channel_errors_id_seq', 1, false);
SELECT pg_catalog.setval('public.channels_id_seq', 4, true);
SELECT pg_catalog.setval('public.device_client_secrets_id_seq', 1, true);
SELECT pg_catalog.setval('public.device_codes_id_seq', 1, true);
SELECT pg_catalog.setval('public.events_seq_seq', 6, true);
SELECT pg_catalog.setval('public.imports_id_seq', 1, false);
SELECT pg_catalog.setval('public.ledger_id_seq', 16, true);
SELECT pg_catalog.setval('public.login_history_id_seq', 4, true);
SELECT pg_catalog.setval('public.mailboxes_id_seq', 1, true);
SELECT pg_catalog.setval('public.notification_mails_id_seq', 1, false);
SELECT pg_catalog.setval('public.notifications_id_seq', 7, true);
SELECT pg_catalog.setval('public.plans_id_seq', 4, true);
SELECT pg_catalog.setval('public.reconciliations_id_seq', 1, false);
SELECT pg_catalog.setval('public.redemption_batches_id_seq', 1, true);
SELECT pg_catalog.setval('public.redemption_codes_id_seq', 1, true);
SELECT pg_catalog.setval('public.requests_seq_seq', 4, true);
SELECT pg_catalog.setval('public.sessions_id_seq', 4, true);
SELECT pg_catalog.setval('public.subscriptions_id_seq', 1, true);
SELECT pg_catalog.setval('public.tasks_seq_seq', 10, true);
SELECT pg_catalog.setval('public.ticket_replies_id_seq', 1, true);
SELECT pg_catalog.setval('public.tickets_id_seq', 2, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 4, true);
SELECT pg_catalog.setval('public.video_shares_id_seq', 1, false);
SELECT pg_catalog.setval('public.webhook_deliveries_id_seq', 1, false);
SELECT pg_catalog.setval('public.webhook_endpoints_id_seq', 1, true);
ALTER TABLE ONLY public.account_reads
    ADD CONSTRAINT account_reads_pkey PRIMARY KEY (channel_id);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_login_email_key UNIQUE (login_email);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_username_key UNIQUE (username);
ALTER TABLE ONLY public.allowance_accounts
    ADD CONSTRAINT allowance_accounts_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.allowance_usage
    ADD CONSTRAINT allowance_usage_key PRIMARY KEY (user_id, subscription_id, kind, starts_at);
ALTER TABLE ONLY public.announcement_reads
    ADD CONSTRAINT announcement_reads_key PRIMARY KEY (user_id, notification_id);
ALTER TABLE ONLY public.app_passwords
    ADD CONSTRAINT app_passwords_pkey PRIMARY KEY (mailbox_id);
ALTER TABLE ONLY public.artifact_totals
    ADD CONSTRAINT artifact_totals_pkey PRIMARY KEY (shard);
ALTER TABLE ONLY public.artifact_usage
    ADD CONSTRAINT artifact_usage_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_one_each UNIQUE (task_id, variant);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.backup_codes
    ADD CONSTRAINT backup_codes_key PRIMARY KEY (user_id, hash);
ALTER TABLE ONLY public.beta_applications
    ADD CONSTRAINT beta_applications_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bindings
    ADD CONSTRAINT bindings_key PRIMARY KEY (user_id, kind);
ALTER TABLE ONLY public.bindings
    ADD CONSTRAINT bindings_once UNIQUE (kind, value);
ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_key PRIMARY KEY (user_id, token_id);
ALTER TABLE ONLY public.catalog_version
    ADD CONSTRAINT catalog_version_pkey PRIMARY KEY (place);
ALTER TABLE ONLY public.channel_circuits
    ADD CONSTRAINT channel_circuits_key PRIMARY KEY (channel_id, credential_id, model);
ALTER TABLE ONLY public.channel_errors
    ADD CONSTRAINT channel_errors_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_sandbox_key UNIQUE (sandbox);
ALTER TABLE ONLY public.device_authorizations
    ADD CONSTRAINT device_authorizations_access_hash_key UNIQUE (access_hash);
ALTER TABLE ONLY public.device_authorizations
    ADD CONSTRAINT device_authorizations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.device_client_secrets
    ADD CONSTRAINT device_client_secrets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.device_clients
    ADD CONSTRAINT device_clients_pkey PRIMARY KEY (client_id);
ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_device_code_hash_key UNIQUE (device_code_hash);
ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.device_codes
    ADD CONSTRAINT device_codes_user_code_key UNIQUE (user_code);
ALTER TABLE ONLY public.device_refresh_tokens
    ADD CONSTRAINT device_refresh_tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.email_tokens
    ADD CONSTRAINT email_tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.ended_sessions
    ADD CONSTRAINT ended_sessions_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.event_queue
    ADD CONSTRAINT event_queue_key PRIMARY KEY (reader, event_seq);
ALTER TABLE ONLY public.event_readers
    ADD CONSTRAINT event_readers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_id_key UNIQUE (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_once UNIQUE (user_id, type, deduplication_key);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.favourite_videos
    ADD CONSTRAINT favourite_videos_key PRIMARY KEY (user_id, task_seq);
ALTER TABLE ONLY public.first_administrator
    ADD CONSTRAINT first_administrator_pkey PRIMARY KEY (place);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_key PRIMARY KEY (scope, key);
ALTER TABLE ONLY public.import_rows
    ADD CONSTRAINT import_rows_key PRIMARY KEY (import_id, kind, source_id, name);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inboxes
    ADD CONSTRAINT inboxes_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.known_login_sources
    ADD CONSTRAINT known_login_sources_key PRIMARY KEY (user_id, source);
ALTER TABLE ONLY public.ledger_audits
    ADD CONSTRAINT ledger_audits_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY public.ledger_checkpoints
    ADD CONSTRAINT ledger_checkpoints_key PRIMARY KEY (generation, user_id);
ALTER TABLE ONLY public.ledger_generations
    ADD CONSTRAINT ledger_generations_pkey PRIMARY KEY (generation);
ALTER TABLE ONLY public.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.limit_slots
    ADD CONSTRAINT limit_slots_holder_key UNIQUE (holder);
ALTER TABLE ONLY public.limit_slots
    ADD CONSTRAINT limit_slots_key PRIMARY KEY (key, slot);
ALTER TABLE ONLY public.login_history
    ADD CONSTRAINT login_history_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mailbox_device_reads
    ADD CONSTRAINT mailbox_device_reads_pkey PRIMARY KEY (authorization_id);
ALTER TABLE ONLY public.mailboxes
    ADD CONSTRAINT mailboxes_address_key UNIQUE (address);
ALTER TABLE ONLY public.mailboxes
    ADD CONSTRAINT mailboxes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mailboxes
    ADD CONSTRAINT mailboxes_ref_key UNIQUE (ref);
ALTER TABLE ONLY public.mailboxes
    ADD CONSTRAINT mailboxes_skeleton_key UNIQUE (skeleton);
ALTER TABLE ONLY public.mailboxes
    ADD CONSTRAINT mailboxes_user_id_key UNIQUE (user_id);
ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notification_mail_settings
    ADD CONSTRAINT notification_mail_settings_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.notification_mails
    ADD CONSTRAINT notification_mails_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notification_mails
    ADD CONSTRAINT notification_mails_unique UNIQUE (user_id, deduplication_key);
ALTER TABLE ONLY public.notification_preferences
    ADD CONSTRAINT notification_preferences_key PRIMARY KEY (user_id, topic);
ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_unique UNIQUE (user_id, deduplication_key);
ALTER TABLE ONLY public.outgoing_mails
    ADD CONSTRAINT outgoing_mails_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.pending_logins
    ADD CONSTRAINT pending_logins_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.phone_codes
    ADD CONSTRAINT phone_codes_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.plans
    ADD CONSTRAINT plans_package_code_key UNIQUE (package_code);
ALTER TABLE ONLY public.plans
    ADD CONSTRAINT plans_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pollers
    ADD CONSTRAINT pollers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.reconciliations
    ADD CONSTRAINT reconciliations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.redemption_batches
    ADD CONSTRAINT redemption_batches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.redemption_codes
    ADD CONSTRAINT redemption_codes_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.redemption_codes
    ADD CONSTRAINT redemption_codes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (seq, created_at);
ALTER TABLE ONLY public.requests_rest
    ADD CONSTRAINT requests_rest_pkey PRIMARY KEY (seq, created_at);
ALTER TABLE ONLY public.reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (ref);
ALTER TABLE ONLY public.scheduled_jobs
    ADD CONSTRAINT scheduled_jobs_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.seeded_models
    ADD CONSTRAINT seeded_models_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.site_settings
    ADD CONSTRAINT site_settings_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.task_attempts
    ADD CONSTRAINT task_attempts_key PRIMARY KEY (task_id, attempt);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_id_key UNIQUE (id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.ticket_replies
    ADD CONSTRAINT ticket_replies_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tickets
    ADD CONSTRAINT tickets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.token_limits
    ADD CONSTRAINT token_limits_pkey PRIMARY KEY (token_id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.two_factors
    ADD CONSTRAINT two_factors_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.usage_daily
    ADD CONSTRAINT usage_daily_key PRIMARY KEY (user_id, day, token_id, model, channel_id);
ALTER TABLE ONLY public.user_tokens
    ADD CONSTRAINT user_tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.user_tokens
    ADD CONSTRAINT user_tokens_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.video_shares
    ADD CONSTRAINT video_shares_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.video_shares
    ADD CONSTRAINT video_shares_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.wallets
    ADD CONSTRAINT wallets_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.webhook_account_secrets
    ADD CONSTRAINT webhook_account_secrets_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_once UNIQUE (endpoint_id, event_seq);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_ref_key UNIQUE (ref);
CREATE INDEX accounts_by_role ON public.accounts USING btree (role, id);
CREATE INDEX accounts_by_status ON public.accounts USING btree (status, id);
CREATE INDEX allowance_usage_by_start ON public.allowance_usage USING btree (starts_at);
CREATE INDEX artifacts_by_age ON public.artifacts USING btree (stored_at, bytes) WHERE (state = 'stored'::text);
CREATE INDEX artifacts_by_user ON public.artifacts USING btree (user_id, state, stored_at, bytes);
CREATE INDEX artifacts_due ON public.artifacts USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);
CREATE INDEX artifacts_expiring ON public.artifacts USING btree (expires_at) WHERE (state = 'stored'::text);
CREATE INDEX artifacts_to_announce ON public.artifacts USING btree (expires_at) WHERE ((state = 'stored'::text) AND (variant = 'video'::text) AND (is_announced = 0));
CREATE INDEX artifacts_to_remove ON public.artifacts USING btree (id) WHERE (state = 'removing'::text);
CREATE INDEX audit_log_by_action ON public.audit_log USING btree (action, id);
CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (actor_id, id);
CREATE INDEX audit_log_by_target ON public.audit_log USING btree (target, id);
CREATE INDEX beta_applications_by_feature ON public.beta_applications USING btree (feature, id);
CREATE INDEX beta_applications_by_status ON public.beta_applications USING btree (status, id);
CREATE INDEX beta_applications_by_user ON public.beta_applications USING btree (user_id, id);
CREATE UNIQUE INDEX beta_applications_one_open ON public.beta_applications USING btree (user_id, feature) WHERE (status <> 'rejected'::text);
CREATE INDEX channel_errors_by_channel ON public.channel_errors USING btree (channel_id, id);
CREATE INDEX device_authorizations_by_client ON public.device_authorizations USING btree (client_id);
CREATE INDEX device_authorizations_by_llm_token ON public.device_authorizations USING btree (llm_token_id);
CREATE INDEX device_authorizations_by_user ON public.device_authorizations USING btree (user_id, id);
CREATE INDEX device_client_secrets_by_client ON public.device_client_secrets USING btree (client_id);
CREATE INDEX device_codes_by_device ON public.device_codes USING btree (device_id) WHERE (device_id <> ''::text);
CREATE INDEX device_codes_by_end ON public.device_codes USING btree (sweep_at);
CREATE INDEX device_codes_by_network ON public.device_codes USING btree (network) WHERE (status = 'pending'::text);
CREATE INDEX device_codes_by_user ON public.device_codes USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX device_refresh_tokens_by_end ON public.device_refresh_tokens USING btree (expires_at);
CREATE INDEX email_tokens_by_end ON public.email_tokens USING btree (expires_at);
CREATE INDEX email_tokens_by_user ON public.email_tokens USING btree (user_id, purpose);
CREATE INDEX ended_sessions_by_end ON public.ended_sessions USING btree (ended_at);
CREATE INDEX events_by_age ON public.events USING btree (created_at);
CREATE INDEX events_by_subject ON public.events USING btree (subject, seq);
CREATE INDEX events_by_user ON public.events USING btree (user_id, seq);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);
CREATE INDEX import_rows_by_target ON public.import_rows USING btree (kind, target_id);
CREATE INDEX known_login_sources_by_use ON public.known_login_sources USING btree (last_used_at);
CREATE INDEX ledger_by_user ON public.ledger USING btree (user_id, id);
CREATE UNIQUE INDEX ledger_once ON public.ledger USING btree (ref, kind);
CREATE INDEX ledger_rare_by_kind ON public.ledger USING btree (kind, id) WHERE (kind <> ALL (ARRAY['reserve'::text, 'settle'::text]));
CREATE INDEX ledger_rare_by_user ON public.ledger USING btree (user_id, kind, id) WHERE (kind <> ALL (ARRAY['reserve'::text, 'settle'::text]));
CREATE INDEX login_history_by_user ON public.login_history USING btree (user_id, id);
CREATE INDEX login_history_failed ON public.login_history USING btree (id) WHERE (outcome <> 'success'::text);
CREATE INDEX notification_mails_by_age ON public.notification_mails USING btree (send_at);
CREATE INDEX notification_mails_by_user ON public.notification_mails USING btree (user_id, send_at);
CREATE INDEX notification_mails_of_mail ON public.notification_mails USING btree (mail_id);
CREATE INDEX notifications_by_user ON public.notifications USING btree (user_id, for_admin, id);
CREATE INDEX notifications_unread ON public.notifications USING btree (user_id, for_admin, is_read, id);
CREATE INDEX outgoing_mails_due ON public.outgoing_mails USING btree (next_try_at);
CREATE INDEX pending_logins_by_user ON public.pending_logins USING btree (user_id);
CREATE INDEX rate_limits_ends_at ON public.rate_limits USING btree (ends_at);
CREATE UNIQUE INDEX reconciliations_by_channel ON public.reconciliations USING btree (channel_id, to_time);
CREATE INDEX redemption_codes_by_batch ON public.redemption_codes USING btree (batch_id, id);
CREATE INDEX redemption_codes_by_plan ON public.redemption_codes USING btree (plan_id, state);
CREATE INDEX requests_by_ref ON ONLY public.requests USING btree (ref);
CREATE INDEX requests_by_time ON ONLY public.requests USING btree (created_at, seq);
CREATE INDEX requests_by_user ON ONLY public.requests USING btree (user_id, created_at, seq);
CREATE INDEX requests_rest_created_at_seq_idx ON public.requests_rest USING btree (created_at, seq);
CREATE INDEX requests_rest_ref_idx ON public.requests_rest USING btree (ref);
CREATE INDEX requests_rest_user_id_created_at_seq_idx ON public.requests_rest USING btree (user_id, created_at, seq);
CREATE INDEX sessions_by_end ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_by_user ON public.sessions USING btree (user_id);
CREATE INDEX subscriptions_by_expiry ON public.subscriptions USING btree (state, expires_at);
CREATE INDEX subscriptions_by_user ON public.subscriptions USING btree (user_id, state);
CREATE UNIQUE INDEX subscriptions_one_active ON public.subscriptions USING btree (user_id) WHERE (state = 'active'::text);
CREATE INDEX tasks_by_channel ON public.tasks USING btree (channel_id, seq);
CREATE UNIQUE INDEX tasks_by_external_id ON public.tasks USING btree (token_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX tasks_by_model ON public.tasks USING btree (model, seq);
CREATE INDEX tasks_by_token ON public.tasks USING btree (token_id, seq);
CREATE INDEX tasks_by_user ON public.tasks USING btree (user_id, seq, deleted);
CREATE INDEX tasks_due ON public.tasks USING btree (next_poll_at) WHERE (next_poll_at IS NOT NULL);
CREATE INDEX tasks_failed ON public.tasks USING btree (seq) WHERE (status = 'FAILURE'::text);
CREATE INDEX tasks_failed_by_user ON public.tasks USING btree (user_id, seq) WHERE (status = 'FAILURE'::text);
CREATE INDEX tasks_unfinished ON public.tasks USING btree (seq) WHERE (next_poll_at IS NOT NULL);
CREATE INDEX tasks_unfinished_by_channel ON public.tasks USING btree (channel_id, credential_id) WHERE (next_poll_at IS NOT NULL);
CREATE INDEX tasks_with_old_detail ON public.tasks USING btree (finish_time) WHERE ((has_detail = 1) AND (finish_time > 0));
CREATE INDEX ticket_replies_by_ticket ON public.ticket_replies USING btree (ticket_id, id);
CREATE INDEX tickets_by_category ON public.tickets USING btree (category, id);
CREATE INDEX tickets_by_status ON public.tickets USING btree (status, id);
CREATE INDEX tickets_by_turn ON public.tickets USING btree (status, awaits_staff, id);
CREATE INDEX tickets_by_user ON public.tickets USING btree (user_id, id);
CREATE INDEX tokens_by_revocation ON public.tokens USING btree (revoked_at) WHERE (revoked_at IS NOT NULL);
CREATE INDEX tokens_by_user ON public.tokens USING btree (user_id, id);
CREATE INDEX usage_daily_by_day ON public.usage_daily USING btree (day);
CREATE INDEX video_shares_by_task ON public.video_shares USING btree (task_id);
CREATE INDEX video_shares_by_user ON public.video_shares USING btree (user_id, id);
CREATE INDEX video_shares_expiring ON public.video_shares USING btree (expires_at);
CREATE INDEX webhook_deliveries_by_age ON public.webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_by_endpoint ON public.webhook_deliveries USING btree (endpoint_id, user_id, id);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (lane, next_try_at) WHERE (next_try_at IS NOT NULL);
CREATE INDEX webhook_deliveries_order ON public.webhook_deliveries USING btree (lane, subject, event_seq) WHERE (next_try_at IS NOT NULL);
CREATE INDEX webhook_endpoints_by_user ON public.webhook_endpoints USING btree (user_id);
ALTER INDEX public.requests_by_time ATTACH PARTITION public.requests_rest_created_at_seq_idx;
ALTER INDEX public.requests_pkey ATTACH PARTITION public.requests_rest_pkey;
ALTER INDEX public.requests_by_ref ATTACH PARTITION public.requests_rest_ref_idx;
ALTER INDEX public.requests_by_user ATTACH PARTITION public.requests_rest_user_id_created_at_seq_idx;
