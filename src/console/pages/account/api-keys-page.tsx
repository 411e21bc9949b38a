import { Badge, Button, Code, Fieldset, Group, SimpleGrid, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconKey, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createToken, revokeToken, TOKEN_SORTS, updateToken } from '../../../contract/api-tokens.ts';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import {
  type Column,
  DataTable,
  type RowSelection,
  useMemberColumn,
  useRowSelection,
} from '../../components/data-table.tsx';
import { ConfirmDialog, FormDialog, OneTimeSecretDialog } from '../../components/dialog.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { AmountInput, SpendLimitFields, SpendLimitText } from '../../components/limit-fields.tsx';
import { BulkBar } from '../../components/list/bulk-bar.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { ModelsSelect } from '../../components/models-select.tsx';
import { NumberField } from '../../components/number-field.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { RouteLink } from '../../components/route-link.tsx';
import { changedFields, useFormValues } from '../../components/save-form.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { useCreateRequest } from '../../components/use-create-request.ts';
import { callApi } from '../../data/api-client.ts';
import {
  creditsToQuota,
  formatDateField,
  toEndOfDay,
  toSpendLimitBody,
  toSpendLimitDraft,
} from '../../data/field-values.ts';
import { formatDate, formatNames } from '../../data/format-values.ts';
import { type ApiKey, type ApiKeyBody, apiKeysQuery, PAGE_SIZE } from '../../data/keys.ts';
import { useModelTitle, useStatus } from '../../data/self.ts';
import { ConnectDialog, ConnectPanel } from './connect-clients/connect-panel.tsx';
import { OldSecrets, RotateKeyDialog } from './rotate-key.tsx';

/** API keys of the account. */
export function ApiKeysPage() {
  const { t } = useTranslation(['account', 'app']);
  const filters = useListFilters([], TOKEN_SORTS);
  const { page } = filters;
  const selection = useRowSelection<ApiKey>(({ id }) => id);
  const [dialog, setDialog] = useState<ApiKey | 'new'>();
  useCreateRequest(() => setDialog('new'));
  const [connected, setConnected] = useState<ApiKey>();
  const [rotated, setRotated] = useState<ApiKey>();
  const tokens = useQuery({ ...apiKeysQuery(page, filters.query.sort), placeholderData: keepPreviousData });
  const columns = useApiKeyColumns({ onConnect: setConnected, onEdit: setDialog, onRotate: setRotated });
  const make = (
    <Button data-create leftSection={<IconPlus size={16} />} onClick={() => setDialog('new')}>
      {t('apiKeys.make')}
    </Button>
  );
  return (
    <Page title={t('apiKeys.title')} subtitle={t('apiKeys.lead')} actions={tokens.data?.total === 0 ? undefined : make}>
      <QueryError query={tokens} />
      {tokens.data === undefined && tokens.error === null ? <PageLoadingIndicator /> : null}
      {tokens.data?.total === 0 ? (
        <EmptyState icon={<IconKey size={28} />} title={t('apiKeys.emptyTitle')} action={make}>
          {t('apiKeys.emptyText')}
        </EmptyState>
      ) : null}
      {tokens.data !== undefined && tokens.data.total > 0 ? (
        <DataTable
          label={t('apiKeys.title')}
          rows={tokens.data.data}
          rowKey={({ id }) => id}
          stale={tokens.isPlaceholderData}
          sort={filters.sort}
          onSort={filters.setSort}
          selection={selection}
          columns={columns}
        />
      ) : null}
      <Pager page={page} total={tokens.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={filters.setPage} />
      <ApiKeyBulkBar selection={selection} />
      {/* Texts of the dialogs load when one first opens; the page stays visible meanwhile. */}
      <Suspense>
        {connected === undefined ? null : (
          <ConnectDialog apiKey={connected} page={page} onClose={() => setConnected(undefined)} />
        )}
        {rotated === undefined ? null : <RotateKeyDialog apiKey={rotated} onClose={() => setRotated(undefined)} />}
        {dialog === undefined ? null : <ApiKeyDialog apiKey={dialog} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </Page>
  );
}

interface ApiKeyColumnActions {
  readonly onConnect: (token: ApiKey) => void;
  readonly onEdit: (token: ApiKey) => void;
  readonly onRotate: (token: ApiKey) => void;
}

function useApiKeyColumns({ onConnect, onEdit, onRotate }: ApiKeyColumnActions): readonly Column<ApiKey>[] {
  const titleOf = useModelTitle();
  const { t } = useTranslation(['account', 'app']);
  const member = useMemberColumn<ApiKey>((token) => token.created_by);
  return [
    {
      label: t('apiKeys.name'),
      sortKey: 'name',
      cell: (token) => <ApiKeyName token={token} />,
    },
    ...member,
    {
      label: t('apiKeys.key'),
      cell: (token) => (
        <Stack gap={4} align="flex-start">
          <Code style={{ whiteSpace: 'nowrap' }}>{token.key_hint}…</Code>
          <OldSecrets apiKey={token} />
        </Stack>
      ),
    },
    { label: t('apiKeys.limit'), cell: (token) => <SpendingLimit token={token} /> },
    { label: t('apiKeys.expires'), sortKey: 'expires', cell: (token) => <Expiry token={token} /> },
    {
      label: t('apiKeys.models'),
      cell: ({ models }) => (
        <Text size="sm" maw={200} truncate title={formatNames(models)}>
          {models.length === 0 ? t('apiKeys.allModels') : formatNames(models.map(titleOf))}
        </Text>
      ),
    },
    {
      label: t('apiKeys.used'),
      sortKey: 'used',
      cell: ({ last_used_time: at }) => <RelativeTime at={at} never={t('apiKeys.notUsed')} size="sm" />,
    },
    {
      label: t('app:edit'),
      hideLabel: true,
      align: 'right',
      cell: (token) => (
        <ApiKeyActions
          token={token}
          onConnect={() => onConnect(token)}
          onEdit={() => onEdit(token)}
          onRotate={() => onRotate(token)}
        />
      ),
    },
  ];
}

/** Bulk actions for the selected keys. */
function ApiKeyBulkBar({ selection }: { readonly selection: RowSelection<ApiKey> }) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  return (
    <BulkBar
      selection={selection}
      nameOf={({ name }) => name}
      onDone={() => queries.invalidateQueries({ queryKey: ['tokens'] })}
      actions={[
        {
          id: 'revoke',
          label: t('apiKeys.revoke'),
          text: t('apiKeys.revokeText'),
          run: ({ id }) => callApi(revokeToken, { params: { id: String(id) } }),
          isDangerous: true,
        },
      ]}
    />
  );
}

function ApiKeyName({ token: { id, name } }: { readonly token: ApiKey }) {
  return (
    <RouteLink
      to="/account/tokens/$id"
      params={{ id: String(id) }}
      size="sm"
      fw={600}
      maw={220}
      truncate
      display="inline-block"
      title={name}
    >
      {name}
    </RouteLink>
  );
}

function SpendingLimit({ token }: { readonly token: ApiKey }) {
  const { t } = useTranslation('account');
  const quota = useFormatCredits();
  const { quota_limit: limit, quota_used: used, spend_limit: spendLimit } = token;
  if (limit === null && spendLimit === null) return t('apiKeys.noLimit');
  return (
    <>
      {limit === null ? null : <div>{t('apiKeys.ofLimit', { used: quota(used), limit: quota(limit) })}</div>}
      {spendLimit === null ? null : <SpendLimitText limit={spendLimit} />}
    </>
  );
}

function Expiry({ token: { expires_at: at } }: { readonly token: ApiKey }) {
  const { t } = useTranslation('account');
  if (at === null) return t('apiKeys.never');
  return (
    <>
      {formatDate(at)} {at * 1000 < Date.now() ? <Badge color="red">{t('apiKeys.expired')}</Badge> : null}
    </>
  );
}

interface ApiKeyActionsProps {
  readonly token: ApiKey;
  readonly onConnect: () => void;
  readonly onEdit: () => void;
  readonly onRotate: () => void;
}

function ApiKeyActions({ token, onConnect, onEdit, onRotate }: ApiKeyActionsProps) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const revoke = async (): Promise<void> => {
    await callApi(revokeToken, { params: { id: String(token.id) } });
    await queries.invalidateQueries({ queryKey: ['tokens'] });
    toasts.success(t('apiKeys.revoked'));
  };
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button size="compact-sm" variant="subtle" onClick={onConnect}>
        {t('connect.connect')}
      </Button>
      <Button size="compact-sm" variant="subtle" color="gray" onClick={onEdit}>
        {t('app:edit')}
      </Button>
      <Button size="compact-sm" variant="subtle" color="gray" onClick={onRotate}>
        {t('apiKeys.rotate.action')}
      </Button>
      <ConfirmDialog
        title={t('apiKeys.revokeTitle', { name: token.name })}
        confirmLabel={t('apiKeys.revoke')}
        onConfirm={revoke}
        trigger={(open) => (
          <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
            {t('apiKeys.revoke')}
          </Button>
        )}
      >
        {t('apiKeys.revokeText')}
      </ConfirmDialog>
    </Group>
  );
}

interface ApiKeyDialogProps {
  readonly apiKey: ApiKey | 'new';
  readonly onClose: () => void;
}

interface CreatedKey {
  readonly id: number;
  readonly key: string;
  readonly name: string;
  readonly models: readonly string[];
}

/** Creates or changes an API key; a new key is shown once, with setup instructions for each client. */
function ApiKeyDialog({ apiKey, onClose }: ApiKeyDialogProps) {
  const { t } = useTranslation('account');
  const [created, setCreated] = useState<CreatedKey>();
  if (created === undefined) return <ApiKeyForm apiKey={apiKey} onCreated={setCreated} onClose={onClose} />;
  return (
    <OneTimeSecretDialog title={t('connect.created')} size="xl" onClose={onClose}>
      <Stack>
        <ConnectPanel tokenId={created.id} page={1} apiKey={created.key} allowedModels={created.models} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('apiKeys.done')}</Button>
        </Group>
      </Stack>
    </OneTimeSecretDialog>
  );
}

interface ApiKeyFormProps extends ApiKeyDialogProps {
  readonly onCreated: (key: CreatedKey) => void;
}

function ApiKeyForm({ apiKey, onCreated, onClose }: ApiKeyFormProps) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const old = apiKey === 'new' ? undefined : apiKey;
  const values = useFormValues(() => toDraft(old, perUnit));
  const { draft, text } = values;
  const [hasLimits, { toggle: toggleLimits }] = useDisclosure(old !== undefined);
  const save = useMutation({
    mutationFn: async () => {
      const body = toBody(draft, perUnit);
      if (old === undefined) {
        const { id, key } = (await callApi(createToken, { body })).data;
        return { id, key, name: body.name ?? '', models: body.models ?? [] };
      }
      // The form rounds the second at which the key expires to the end of a day.
      const before = toBody(toDraft(old, perUnit), perUnit);
      await callApi(updateToken, { params: { id: String(old.id) }, body: changedFields(body, before) });
      return undefined;
    },
    onSuccess: async (key) => {
      await queries.invalidateQueries({ queryKey: ['tokens'] });
      if (key === undefined) onClose();
      else onCreated(key);
    },
  });
  return (
    <FormDialog
      title={t(old === undefined ? 'apiKeys.make' : 'apiKeys.editTitle')}
      submitLabel={old === undefined ? t('apiKeys.make') : t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        label={t('apiKeys.name')}
        placeholder={t('apiKeys.namePlaceholder')}
        maxLength={100}
        required
        data-autofocus
        {...text('name')}
      />
      <div>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={toggleLimits}
          aria-expanded={hasLimits}
          rightSection={<IconChevronDown size={14} style={{ transform: hasLimits ? 'rotate(180deg)' : 'none' }} />}
        >
          {t('apiKeys.limits')}
        </Button>
      </div>
      {hasLimits ? <ApiKeyLimitFields values={values} /> : null}
    </FormDialog>
  );
}

interface ApiKeyLimitFieldsProps {
  readonly values: ReturnType<typeof useFormValues<ReturnType<typeof toDraft>>>;
}

/** What a key may spend, until when, and from where; nothing is limited unless filled in. */
function ApiKeyLimitFields({ values: { draft, text, value } }: ApiKeyLimitFieldsProps) {
  const { t } = useTranslation('account');
  return (
    <>
      <AmountInput label={t('apiKeys.limit')} description={t('apiKeys.limitHint')} {...value('limit')} />
      <SpendLimitFields description={t('apiKeys.spendLimitHint')} {...value('spendLimit')} />
      <TextInput
        type="date"
        label={t('apiKeys.expires')}
        description={t('apiKeys.expiresHint')}
        min={formatDateField(Date.now() / 1000)}
        {...text('expires')}
      />
      <ModelsSelect label={t('apiKeys.models')} description={t('apiKeys.modelsHint')} {...value('models')} />
      <TagsInput
        label={t('apiKeys.addresses')}
        description={t('apiKeys.addressesHint')}
        splitChars={[',', ' ', '\n']}
        maxTags={100}
        value={[...draft.addresses]}
        onChange={value('addresses').onChange}
      />
      <ApiKeyRateLimitFields value={value} />
    </>
  );
}

const toDraft = (apiKey: ApiKey | undefined, perUnit: number) => ({
  name: apiKey?.name ?? '',
  limit: (apiKey?.quota_limit == null ? '' : apiKey.quota_limit / perUnit) as number | string,
  spendLimit: toSpendLimitDraft(apiKey?.spend_limit, perUnit),
  expires: formatDateField(apiKey?.expires_at ?? 0),
  models: (apiKey?.models ?? []) as readonly string[],
  addresses: (apiKey?.allowed_addresses ?? []) as readonly string[],
  ...toRateLimitDraft(apiKey),
});

const toBody = (draft: ReturnType<typeof toDraft>, perUnit: number): ApiKeyBody => ({
  name: draft.name.trim(),
  quota_limit: draft.limit === '' ? null : creditsToQuota(Number(draft.limit), perUnit),
  spend_limit: toSpendLimitBody(draft.spendLimit, perUnit),
  expires_at: toEndOfDay(draft.expires),
  models: [...draft.models],
  allowed_addresses: [...draft.addresses],
  ...toRateLimits(draft),
});

const LIMITS = [
  ['requestsPerMinute', 'requests_per_minute', 1_000_000_000],
  ['tokensPerMinute', 'tokens_per_minute', 1_000_000_000],
  ['concurrentCalls', 'concurrent_calls', 1_000],
  ['concurrentTasks', 'concurrent_tasks', 1_000],
  ['queuedTasks', 'queued_tasks', 1_000_000],
] as const;

type LimitName = (typeof LIMITS)[number][0];
/** Empty: unlimited. */
type RateLimitFormValues = Record<LimitName, number | string>;

interface ApiKeyRateLimitFieldsProps {
  readonly value: (name: LimitName) => { value: number | string; onChange: (next: number | string) => void };
}

/** Limits of a key: requests and tokens per minute, concurrent calls and tasks. */
function ApiKeyRateLimitFields({ value }: ApiKeyRateLimitFieldsProps) {
  const { t } = useTranslation('account');
  return (
    <Fieldset legend={t('apiKeys.rates')}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {LIMITS.map(([name, , max]) => (
          <NumberField
            key={name}
            label={t(`apiKeys.${name}`)}
            placeholder={t('apiKeys.ratesHint')}
            min={1}
            max={max}
            allowDecimal={false}
            hideControls
            {...value(name)}
          />
        ))}
      </SimpleGrid>
    </Fieldset>
  );
}

const toRateLimitDraft = (apiKey: ApiKey | undefined): RateLimitFormValues =>
  Object.fromEntries(LIMITS.map(([name, field]) => [name, apiKey?.[field] ?? ''])) as RateLimitFormValues;

const toRateLimits = (draft: RateLimitFormValues): Pick<ApiKeyBody, (typeof LIMITS)[number][1]> =>
  Object.fromEntries(LIMITS.map(([name, field]) => [field, draft[name] === '' ? null : Number(draft[name])]));
