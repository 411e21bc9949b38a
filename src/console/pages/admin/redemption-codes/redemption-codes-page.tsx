import { Alert, Badge, Button, Code, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload, IconPlus, IconTicket } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  adminCreateRedemptionCodes,
  adminExportRedemptionCodes,
  adminListRedemptionCodes,
  adminUpdateRedemptionCode,
  adminVoidRedemptionBatch,
  adminVoidRedemptionCode,
  CODE_SORTS,
  type CodeStatus,
} from '../../../../contract/plans.ts';
import { CopyButton } from '../../../components/copy-button.tsx';
import { useFormatCredits } from '../../../components/credit-amount.tsx';
import { isListEmpty, PagedTable, type RowSelection, useRowSelection } from '../../../components/data-table.tsx';
import { ConfirmDialog, FormDialog, OneTimeSecretDialog } from '../../../components/dialog.tsx';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { AmountInput } from '../../../components/limit-fields.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, withSelected } from '../../../components/list/filter-bar.tsx';
import { type ListFilters, useListFilters } from '../../../components/list/use-list-filters.ts';
import { NumberField } from '../../../components/number-field.tsx';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink, UserOrChannelLink } from '../../../components/route-link.tsx';
import { useFormValues, useSaveAndClose } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  type CodeBatch,
  type CodeListItem,
  listQuery,
  useCodeBatches,
  useInvalidateQueries,
  usePlanNames,
  usePlanOptions,
  useUserNames,
} from '../../../data/admin.ts';
import { callApi, sendRequest } from '../../../data/api-client.ts';
import { creditsToQuota, formatDateField, toEndOfDay } from '../../../data/field-values.ts';
import { downloadFile } from '../../../data/files.ts';
import { formatAside, formatDate, formatDateTime } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';

const STATUS_COLOR: Readonly<Record<CodeStatus, string>> = {
  unused: 'blue',
  used: 'teal',
  voided: 'red',
  expired: 'gray',
};

/** Masked redemption codes with their state. */
export function RedemptionCodesPage() {
  const { t } = useTranslation(['admin-plans', 'app']);
  const filters = useListFilters(['status', 'batch_id', 'package_code'], CODE_SORTS);
  const [making, setMaking] = useState(false);
  const codes = useQuery(listQuery(adminListRedemptionCodes, filters.query));
  const selection = useRowSelection<CodeListItem>(
    ({ id }) => id,
    ({ status }) => status === 'unused',
  );
  const users = useUserNames(codes.data?.data.map(({ used_by: id }) => id).filter((id) => id !== 0));
  const make = (
    <Button data-create leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      {t('codes.make')}
    </Button>
  );
  const { batch_id: batch } = filters.value;
  return (
    <Page
      title={t('app:pages.codes')}
      subtitle={t('codes.lead')}
      actions={
        <>
          {batch === undefined ? null : <RevokeCodeBatch id={Number(batch)} />}
          <ExportCodes filter={filters.value} total={codes.data?.total ?? 0} />
          {isListEmpty(codes, filters) ? null : make}
        </>
      }
    >
      <CodeFilters filters={filters} />
      <PagedTable
        label={t('app:pages.codes')}
        query={codes}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={
          <EmptyState icon={<IconTicket size={28} />} title={t('codes.emptyTitle')} action={make}>
            {t('codes.emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('codes.code'),
            cell: ({ code }) => (
              <Text size="sm" ff="monospace">
                {code}
              </Text>
            ),
          },
          { label: t('codes.for'), cell: (code) => <CodeValue code={code} /> },
          { label: t('codes.batch'), sortKey: 'batch', cell: (code) => <BatchLink code={code} /> },
          {
            label: t('codes.status'),
            cell: ({ status }) => <Badge color={STATUS_COLOR[status]}>{t(`codes.states.${status}`)}</Badge>,
          },
          {
            label: t('codes.until'),
            sortKey: 'expires',
            cell: ({ expires_at: at }) => (at === 0 ? '–' : formatDate(at)),
            hideOnPhone: true,
          },
          {
            label: t('codes.usedBy'),
            cell: ({ used_by: id }) => <UserOrChannelLink to="users" id={id === 0 ? null : id} names={users} />,
          },
          {
            label: t('codes.usedTime'),
            sortKey: 'used',
            cell: ({ used_time: at }) => <RelativeTime at={at} never="–" size="sm" />,
            hideOnPhone: true,
          },
          { label: t('app:edit'), hideLabel: true, align: 'right', cell: (code) => <CodeActions code={code} /> },
        ]}
      />
      <CodeBulkBar selection={selection} />
      {making ? <NewCodesDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

/** Bulk actions for the selected codes. */
function CodeBulkBar({ selection }: { readonly selection: RowSelection<CodeListItem> }) {
  const { t } = useTranslation('admin-plans');
  const invalidate = useInvalidateQueries();
  return (
    <BulkBar
      selection={selection}
      nameOf={({ code }) => code}
      onDone={invalidate}
      actions={[
        {
          id: 'void',
          label: t('codes.void'),
          text: t('codes.voidText'),
          run: ({ id }) => callApi(adminVoidRedemptionCode, { params: { id: String(id) } }),
          isDangerous: true,
        },
      ]}
    />
  );
}

function CodeFilters({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('admin-plans');
  const plans = usePlanOptions();
  const batches = useCodeBatches();
  const nameOf = useBatchName();
  return (
    <FilterBar filters={filters}>
      <ChoiceFilter
        filters={filters}
        name="status"
        label={t('codes.status')}
        choices={Object.keys(STATUS_COLOR).map((value) => ({
          value,
          label: t(`codes.states.${value as CodeStatus}`),
        }))}
      />
      <ChoiceFilter
        filters={filters}
        name="batch_id"
        label={t('codes.batch')}
        width={260}
        choices={withSelected(
          batches.map((batch) => ({ value: String(batch.id), label: nameOf(batch) })),
          filters.value.batch_id,
        )}
      />
      <ChoiceFilter
        filters={filters}
        name="package_code"
        label={t('codes.planName')}
        width={180}
        choices={plans.options ?? []}
      />
    </FilterBar>
  );
}

function CodeValue({ code }: { readonly code: CodeListItem }) {
  const quota = useFormatCredits();
  const planName = usePlanNames();
  return code.package_code === '' ? quota(code.quota) : planName(code.package_code);
}

/** Names a batch by its note, or by what its codes give, with their number and the time. */
function useBatchName() {
  const { t } = useTranslation('admin-plans');
  const credits = useFormatCredits();
  const planName = usePlanNames();
  return ({ note, package_code: plan, quota, count, created_time: at }: CodeBatch): string =>
    [note || (plan === '' ? credits(quota) : planName(plan)), t('codes.countOf', { count }), formatDateTime(at)].join(
      ' · ',
    );
}

function BatchLink({ code: { batch_id: id, note, created_time: at } }: { readonly code: CodeListItem }) {
  return (
    <RouteLink to="/admin/codes" search={{ batch_id: id }} size="sm" truncate display="block" maw={220} title={note}>
      {note || formatDateTime(at)}
    </RouteLink>
  );
}

const INITIAL_FORM = {
  kind: 'plan' as 'plan' | 'credits',
  plan: null as string | null,
  credits: 10 as number | string,
  count: 10 as number | string,
  day: '',
  note: '',
};

/** Creates a batch of codes and shows them once. */
function NewCodesDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const invalidate = useInvalidateQueries();
  const perUnit = useStatus().data?.quota_per_unit;
  const plans = usePlanOptions();
  const { draft: form, set, text, value } = useFormValues(INITIAL_FORM);
  const make = useMutation({
    mutationFn: async () => {
      const value =
        form.kind === 'plan'
          ? { package_code: form.plan ?? '' }
          : { quota: creditsToQuota(Number(form.credits), perUnit) };
      const body = { ...value, count: Number(form.count), expires_at: toEndOfDay(form.day), note: form.note.trim() };
      return (await callApi(adminCreateRedemptionCodes, { body })).data;
    },
    onSuccess: invalidate,
  });
  if (make.data !== undefined) {
    return (
      <OneTimeSecretDialog title={t('codes.onceTitle', { count: make.data.codes.length })} onClose={onClose}>
        <CreatedCodes codes={make.data.codes} batch={make.data.id} onClose={onClose} />
      </OneTimeSecretDialog>
    );
  }
  return (
    <FormDialog
      title={t('codes.make')}
      submitLabel={t('codes.make')}
      save={make}
      error={plans.error}
      onClose={onClose}
      disabled={form.kind === 'plan' ? form.plan === null : Number(form.credits) <= 0}
    >
      <SegmentedControl
        aria-label={t('codes.kind')}
        value={form.kind}
        onChange={(kind) => set({ kind: kind as typeof form.kind })}
        data={[
          { value: 'plan', label: t('codes.plan') },
          { value: 'credits', label: t('codes.credits') },
        ]}
      />
      {form.kind === 'plan' ? (
        plans.options?.length === 0 ? (
          <Text size="sm">{t('codes.noPlans')}</Text>
        ) : (
          <Select
            label={t('codes.planName')}
            placeholder={t('codes.choosePlan')}
            data={plans.options ?? []}
            required
            {...value('plan')}
          />
        )
      ) : (
        <AmountInput label={t('codes.amount')} max={1e9} decimalScale={6} required {...value('credits')} />
      )}
      <NumberField label={t('codes.count')} min={1} max={1_000} allowDecimal={false} required {...value('count')} />
      <TextInput type="date" label={t('codes.expires')} description={t('codes.expiresHint')} {...text('day')} />
      <TextInput
        label={formatAside(t('codes.note'), t('app:optional'))}
        description={t('codes.noteHint')}
        maxLength={500}
        {...text('note')}
      />
    </FormDialog>
  );
}

interface CreatedCodesProps {
  readonly codes: readonly string[];
  readonly batch: number;
  readonly onClose: () => void;
}

/** New codes, shown only once. */
function CreatedCodes({ codes, batch, onClose }: CreatedCodesProps) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const text = codes.join('\n');
  const save = (): void => downloadFile(`codes-${batch}.txt`, new Blob([`${text}\n`], { type: 'text/plain' }));
  return (
    <Stack>
      <Alert color="yellow" variant="light">
        {t('codes.once')}
      </Alert>
      <Code block mah={260} tabIndex={0} fz="sm" style={{ overflow: 'auto' }}>
        {text}
      </Code>
      <Group grow>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button
              variant="default"
              leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
              onClick={copy}
            >
              {copied ? t('app:copied') : t('codes.copyAll')}
            </Button>
          )}
        </CopyButton>
        <Button variant="default" leftSection={<IconDownload size={16} />} onClick={save}>
          {t('codes.save')}
        </Button>
      </Group>
      <Button onClick={onClose}>{t('codes.copied')}</Button>
    </Stack>
  );
}

/** Actions on a code: extend an expired one, revoke an unused one. */
function CodeActions({ code }: { readonly code: CodeListItem }) {
  const { t } = useTranslation('admin-plans');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const [changingExpiry, setProlonging] = useState(false);
  if (code.status === 'used' || code.status === 'voided') return null;
  const revoke = async (): Promise<void> => {
    await callApi(adminVoidRedemptionCode, { params: { id: String(code.id) } });
    await invalidate();
    toasts.success(t('codes.voided', { count: 1 }));
  };
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setProlonging(true)}>
        {t('codes.prolong')}
      </Button>
      {code.status === 'unused' ? (
        <ConfirmDialog
          title={t('codes.voidTitle', { code: code.code })}
          confirmLabel={t('codes.void')}
          onConfirm={revoke}
          trigger={(open) => (
            <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
              {t('codes.void')}
            </Button>
          )}
        >
          {t('codes.voidText')}
        </ConfirmDialog>
      ) : null}
      {changingExpiry ? <ExpiryDialog code={code} onClose={() => setProlonging(false)} /> : null}
    </Group>
  );
}

function ExpiryDialog({ code, onClose }: { readonly code: CodeListItem; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const [day, setDay] = useState(formatDateField(code.expires_at));
  const save = useSaveAndClose(
    () =>
      callApi(adminUpdateRedemptionCode, { params: { id: String(code.id) }, body: { expires_at: toEndOfDay(day) } }),
    { onClose },
  );
  return (
    <FormDialog
      title={t('codes.prolongTitle', { code: code.code })}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        type="date"
        label={t('codes.expires')}
        description={t('codes.expiresHint')}
        data-autofocus
        value={day}
        onChange={(event) => setDay(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

/** Revokes the codes of a leaked batch; redeemed codes stay redeemed. */
function RevokeCodeBatch({ id }: { readonly id: number }) {
  const { t } = useTranslation('admin-plans');
  const nameOf = useBatchName();
  const batch = useCodeBatches().find((each) => each.id === id);
  const name = batch === undefined ? `#${id}` : nameOf(batch);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const withdraw = async (): Promise<void> => {
    const { data } = await callApi(adminVoidRedemptionBatch, { body: { batch_id: id } });
    await invalidate();
    toasts.success(t('codes.voided', { count: data.voided }));
  };
  return (
    <ConfirmDialog
      title={t('codes.voidBatchTitle', { name })}
      confirmLabel={t('codes.voidBatch')}
      onConfirm={withdraw}
      trigger={(open) => (
        <Button variant="light" color="red" onClick={open}>
          {t('codes.voidBatch')}
        </Button>
      )}
    >
      {t('codes.voidText')}
    </ConfirmDialog>
  );
}

interface ExportCodesProps {
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly total: number;
}

function ExportCodes({ filter, total }: ExportCodesProps) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const toasts = useToasts();
  const save = useMutation({
    mutationFn: async () => {
      const response = await sendRequest(adminExportRedemptionCodes, { query: filter });
      downloadFile('redemption-codes.csv', await response.blob());
    },
    onSuccess: () => toasts.success(t('codes.exported')),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      disabled={total === 0}
      loading={save.isPending}
      onClick={() => save.mutate()}
    >
      {t('codes.export')}
    </Button>
  );
}
