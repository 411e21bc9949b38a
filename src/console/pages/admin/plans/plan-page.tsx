import {
  Badge,
  Card as Box,
  Code,
  Group,
  MultiSelect,
  SimpleGrid,
  Stack,
  Switch,
  type SwitchProps,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { IconCreditCard, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { formatListPrice } from '../../../../contract/amounts.ts';
import {
  adminCreatePackageCard,
  adminDeletePackageCard,
  adminGetPackageCard,
  adminListPackageCards,
  adminUpdatePackageCard,
  NO_PACKAGE,
  PLAN_SORTS,
} from '../../../../contract/plans.ts';
import { useAmountUnit, useAmountUnitName, useFormatCredits } from '../../../components/credit-amount.tsx';
import { isListEmpty, PagedTable } from '../../../components/data-table.tsx';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { QueryError } from '../../../components/error-alert.tsx';
import { AmountInput, type AmountInputProps, SpendLimitFields } from '../../../components/limit-fields.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { ModelsSelect } from '../../../components/models-select.tsx';
import { NumberField } from '../../../components/number-field.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { changedFields, SaveForm, useEditedVersion, useFormValues } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  dataQuery,
  type ListItem,
  listQuery,
  type Plan,
  useChannels,
  useInvalidateQueries,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatAside } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';
import { currentLanguage } from '../../../strings/language.ts';
import {
  EMPTY_PLAN,
  type PlanFormValues,
  toBuiltinPlanBody,
  toPlanBody,
  toPlanFormValues,
} from './plan-form-values.ts';

/** Edits one plan. */
export function PlanPage() {
  const { t } = useTranslation('admin-plans');
  const id = useRouteId();
  const { data: status } = useStatus();
  const card = useQuery(dataQuery(adminGetPackageCard, { params: { id } }));
  if (card.data !== undefined && status !== undefined)
    return <PlanDetails key={card.data.id} card={card.data} perUnit={status.quota_per_unit} />;
  if (card.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('all')} subtitle={<RouteLink to="/admin/packages">{t('all')}</RouteLink>} size="sm">
      <QueryError query={card} />
    </Page>
  );
}

function PlanDetails({ card: plan, perUnit }: { readonly card: Plan; readonly perUnit: number }) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const { version, onEdit, onSaved } = useEditedVersion(plan);
  const initial = toPlanFormValues(version, perUnit);
  return (
    <Page
      title={plan.system_builtin ? t('none') : plan.name}
      subtitle={
        <>
          <RouteLink to="/admin/packages" underline="always">
            {t('all')}
          </RouteLink>
          {plan.system_builtin ? ` · ${t('builtin')}` : ''}
        </>
      }
      size="sm"
      actions={
        plan.system_builtin ? undefined : (
          <RouteButton to="/admin/codes" search={{ package_code: plan.package_code }} variant="default">
            {t('app:pages.codes')}
          </RouteButton>
        )
      }
    >
      <Stack>
        <Box p={{ base: 'md', sm: 'xl' }}>
          <PlanForm
            key={JSON.stringify(initial)}
            initial={initial}
            isNew={false}
            isBuiltin={plan.system_builtin}
            submitLabel={t('app:save')}
            onEdit={onEdit}
            save={async (draft) => {
              const toBody = plan.system_builtin ? toBuiltinPlanBody : toPlanBody;
              const body = changedFields(toBody(draft, perUnit), toBody(initial, perUnit));
              await callApi(adminUpdatePackageCard, { params: { id: String(plan.id) }, body });
              await invalidate();
              onSaved();
              toasts.success(t('app:saved'));
            }}
          />
        </Box>
        {plan.system_builtin ? null : <DeletePlan plan={plan} />}
      </Stack>
    </Page>
  );
}

function DeletePlan({ plan: { id, name } }: { readonly plan: Plan }) {
  const { t } = useTranslation('admin-plans');
  return (
    <DeletePanel
      heading={t('remove')}
      title={t('removeTitle', { name })}
      text={t('removeText')}
      confirmLabel={t('removeAction', { name })}
      remove={() => callApi(adminDeletePackageCard, { params: { id: String(id) } })}
      message={t('removed', { name })}
      listPage="/admin/packages"
    />
  );
}

type PlanListItem = ListItem<typeof adminListPackageCards>;
const HOUR_SECONDS = 3600;

/** Plans, for which redemption codes can be created. */
export function PlanListPage() {
  const { t } = useTranslation(['admin-plans', 'app']);
  const filters = useListFilters([], PLAN_SORTS);
  const unit = useAmountUnit();
  const cards = useQuery(listQuery(adminListPackageCards, filters.query));
  const make = (
    <RouteButton data-create to="/admin/packages/new" leftSection={<IconPlus size={16} />}>
      {t('make')}
    </RouteButton>
  );
  return (
    <Page
      title={t('app:pages.adminPackages')}
      subtitle={t('lead')}
      actions={isListEmpty(cards, filters) ? undefined : make}
    >
      <PagedTable
        label={t('app:pages.adminPackages')}
        query={cards}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconCreditCard size={28} />} title={t('emptyTitle')} action={make}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('name'),
            sortKey: 'name',
            cell: ({ id, name, package_code: code }) => (
              <>
                <RouteLink
                  to="/admin/packages/$id"
                  params={{ id: String(id) }}
                  fw={600}
                  size="sm"
                  style={{ overflowWrap: 'anywhere' }}
                >
                  {code === NO_PACKAGE ? t('none') : name}
                </RouteLink>
                <div>
                  <Code>{code}</Code>
                </div>
              </>
            ),
          },
          { label: t('level'), sortKey: 'level', align: 'right', cell: ({ level }) => level },
          {
            label: t('allowance'),
            cell: (card) =>
              card.package_code === NO_PACKAGE && card.daily_quota === 0 ? '–' : <Allowance card={card} />,
          },
          {
            label: t('duration'),
            sortKey: 'duration',
            cell: ({ package_code: code, duration_days: count }) => (code === NO_PACKAGE ? '–' : t('days', { count })),
            hideOnPhone: true,
          },
          {
            label: t('price'),
            sortKey: 'price',
            align: 'right',
            cell: ({ package_code: code, price_amount: price }) =>
              code === NO_PACKAGE ? '–' : formatListPrice(price, unit, currentLanguage()),
          },
          { label: t('enabled'), align: 'right', cell: (card) => <PlanStatus card={card} /> },
        ]}
      />
    </Page>
  );
}

function Allowance({ card: plan }: { readonly card: PlanListItem }) {
  const { t } = useTranslation('admin-plans');
  const quota = useFormatCredits();
  const hours = plan.refresh_interval_seconds / HOUR_SECONDS;
  return (
    <>
      <Text size="sm">
        {hours === 0
          ? t('perDay', { amount: quota(plan.daily_quota) })
          : t('perHours', { amount: quota(plan.interval_quota), count: Number(hours.toFixed(2)) })}
      </Text>
      {plan.weekly_quota_limit === 0 ? null : (
        <Text size="xs" c="dimmed">
          {t('perWeek', { amount: quota(plan.weekly_quota_limit) })}
        </Text>
      )}
      {plan.monthly_quota_limit === 0 ? null : (
        <Text size="xs" c="dimmed">
          {t('perMonth', { amount: quota(plan.monthly_quota_limit) })}
        </Text>
      )}
    </>
  );
}

function PlanStatus({ card: plan }: { readonly card: PlanListItem }) {
  const { t } = useTranslation('admin-plans');
  return (
    <Group gap={4} justify="flex-end">
      {plan.purchasable ? null : <Badge color="gray">{t('hidden')}</Badge>}
      <Badge color={plan.status === 1 ? 'teal' : 'red'}>{plan.status === 1 ? t('on') : t('off')}</Badge>
    </Group>
  );
}

/** Creates a plan. */
export function NewPlanPage() {
  const { t } = useTranslation('admin-plans');
  const { data: status } = useStatus();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const navigate = useNavigate();
  return (
    <Page title={t('make')} subtitle={<RouteLink to="/admin/packages">{t('all')}</RouteLink>} size="sm">
      {status === undefined ? null : (
        <Box p={{ base: 'md', sm: 'xl' }}>
          <PlanForm
            initial={EMPTY_PLAN}
            isNew
            submitLabel={t('make')}
            save={async (draft) => {
              await callApi(adminCreatePackageCard, { body: toPlanBody(draft, status.quota_per_unit) });
              await invalidate();
              toasts.success(t('made', { name: draft.name.trim() }));
              await navigate({ to: '/admin/packages' });
            }}
          />
        </Box>
      )}
    </Page>
  );
}

interface PlanFormProps {
  readonly initial: PlanFormValues;
  readonly isNew: boolean;
  /** The plan of accounts without a subscription: has no level, duration or price, and is always enabled. */
  readonly isBuiltin?: boolean;
  readonly submitLabel: string;
  readonly onEdit?: () => void;
  readonly save: (draft: PlanFormValues) => Promise<void>;
}

type NumberName =
  | 'level'
  | 'price'
  | 'days'
  | 'hours'
  | 'credits'
  | 'weekly'
  | 'storageDays'
  | 'storageGb'
  | 'concurrent'
  | 'waiting'
  | 'factor';

/** Whole numbers; empty: the site's settings apply. */
const OPTIONAL = { required: false, allowDecimal: false } as const;

/** All settings of a plan. */
function PlanForm({ initial, isNew, isBuiltin = false, submitLabel, onEdit, save }: PlanFormProps) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const { draft, set, text, value, checked } = useFormValues(initial, onEdit);
  const unit = useAmountUnitName();
  const number = (name: NumberName, label: string, more: Parameters<typeof NumberField>[0] = {}) => (
    <NumberField
      label={label}
      min={0}
      required
      withAsterisk={false}
      hideControls
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      value={draft[name]}
      onChange={(next) => set({ [name]: next })}
      {...more}
    />
  );
  return (
    <SaveForm submitLabel={submitLabel} save={() => save(draft)} hint={isNew ? '' : t('holders')}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput label={t('name')} maxLength={100} required {...text('name')} />
        <TextInput
          label={t('code')}
          description={t('codeHint')}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          pattern="[a-z0-9][a-z0-9_\-]{0,63}"
          required
          readOnly={!isNew}
          spellCheck={false}
          {...text('code')}
        />
      </SimpleGrid>
      <Textarea
        label={formatAside(t('description'), t('app:optional'))}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={2_000}
        {...text('description')}
      />
      {isBuiltin ? null : (
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          {number('level', t('level'), { description: t('levelHint'), allowDecimal: false, max: 1e6 })}
          {number('price', t('app:amountIn', { label: t('price'), unit }), {
            description: t('priceHint'),
            decimalScale: 2,
            max: 1e9,
          })}
          {number('days', t('duration'), { allowDecimal: false, min: 1, max: 36_500 })}
        </SimpleGrid>
      )}
      {isBuiltin ? null : <OrderUrlInput {...text('orderUrl')} />}
      <RenewalControl {...value('renewal')} />
      <SimpleGrid cols={{ base: 1, xs: draft.renewal === 'day' ? 3 : 4 }}>
        {draft.renewal === 'day' ? null : number('hours', t('hours'), { min: 0.1, max: 8_784, decimalScale: 2 })}
        <AllowanceInput label={t('credits')} {...value('credits')} />
        <AllowanceInput label={t('weekly')} description={t('weeklyHint')} {...value('weekly')} />
        <AllowanceInput label={t('monthly')} description={t('monthlyHint')} {...value('monthly')} />
      </SimpleGrid>
      <SpendLimitFields description={t('spendLimitHint')} {...value('spendLimit')} />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {number('storageDays', t('storageDays'), { ...OPTIONAL, description: t('storageHint'), max: 36_500 })}
        {number('storageGb', t('storageGb'), { ...OPTIONAL, description: t('storageHint'), min: 1, max: 1e6 })}
        {number('concurrent', t('concurrentTasks'), { ...OPTIONAL, description: t('tasksHint'), min: 1, max: 1e6 })}
        {number('waiting', t('queuedTasks'), { ...OPTIONAL, description: t('waitingHint'), min: 1, max: 1e6 })}
      </SimpleGrid>
      {number('factor', t('factor'), { description: t('factorHint'), decimalScale: 9, max: 1_000 })}
      <ChannelsSelect label={t('channels')} description={t('channelsHint')} {...value('channels')} />
      <ModelsSelect label={t('models')} description={t('modelsHint')} {...value('models')} />
      {isBuiltin ? null : <PlanSwitches purchasable={checked('purchasable')} enabled={checked('enabled')} />}
    </SaveForm>
  );
}

/** Where users order the plan. */
function OrderUrlInput(props: Pick<TextInputProps, 'value' | 'onChange'>) {
  const { t } = useTranslation(['admin-plans', 'app']);
  return (
    <TextInput
      label={formatAside(t('orderUrl'), t('app:optional'))}
      description={t('orderUrlHint')}
      placeholder="https://"
      type="url"
      pattern="https://.*"
      maxLength={2_000}
      {...props}
    />
  );
}

type Renewal = PlanFormValues['renewal'];

/** When the allowance is renewed. */
function RenewalControl({ value, onChange }: { readonly value: Renewal; readonly onChange: (next: Renewal) => void }) {
  const { t } = useTranslation('admin-plans');
  return (
    <div>
      <Text size="sm" fw={600} mb={4} id="renewed">
        {t('allowance')}
      </Text>
      <SegmentedControl
        aria-labelledby="renewed"
        value={value}
        onChange={(renewed) => onChange(renewed as Renewal)}
        data={[
          { value: 'day', label: t('eachDay') },
          { value: 'period', label: t('eachPeriod') },
        ]}
      />
    </div>
  );
}

function AllowanceInput(props: AmountInputProps) {
  return (
    <AmountInput
      required
      withAsterisk={false}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      decimalScale={6}
      max={1e9}
      {...props}
    />
  );
}

type Checked = Pick<SwitchProps, 'checked' | 'onChange'>;

function PlanSwitches({ purchasable, enabled }: { readonly purchasable: Checked; readonly enabled: Checked }) {
  const { t } = useTranslation('admin-plans');
  return (
    <>
      <Switch label={t('purchasable')} description={t('purchasableHint')} {...purchasable} />
      <Switch label={t('enabled')} description={t('enabledHint')} {...enabled} />
    </>
  );
}

interface ChannelsSelectProps {
  readonly label: string;
  readonly description: string;
  /** Channel ids. */
  readonly value: readonly string[];
  readonly onChange: (channels: readonly string[]) => void;
}

/** Selects several channels; a deleted channel stays selected until removed. */
function ChannelsSelect({ label, description, value, onChange }: ChannelsSelectProps) {
  const { t } = useTranslation();
  const known = useChannels().map(({ id, name }) => ({ value: String(id), label: `${name} (${id})` }));
  const removed = value
    .filter((id) => known.every((each) => each.value !== id))
    .map((id) => ({ value: id, label: id }));
  return (
    <MultiSelect
      label={label}
      description={description}
      data={[...known, ...removed]}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('remove') }}
      value={[...value]}
      onChange={onChange}
    />
  );
}
