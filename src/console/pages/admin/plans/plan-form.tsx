import {
  MultiSelect,
  NumberInput,
  SimpleGrid,
  Switch,
  type SwitchProps,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { AmountInput, type AmountInputProps } from '../../../components/amount-input.tsx';
import { useAmountUnitName } from '../../../components/credit-amount.tsx';
import { ModelsSelect } from '../../../components/models-select.tsx';
import { SaveForm, useFormValues } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { SpendLimitFields } from '../../../components/spend-limit.tsx';
import { formatAside } from '../../../data/format-text.ts';
import { useChannels } from '../../../data/names.ts';
import type { PlanFormValues } from './plan-form-values.ts';

interface PlanFormProps {
  readonly initial: PlanFormValues;
  readonly isNew: boolean;
  /** The plan of accounts without a subscription: has no level, duration or price, and is always enabled. */
  readonly isBuiltin?: boolean;
  readonly submitLabel: string;
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
export function PlanForm({ initial, isNew, isBuiltin = false, submitLabel, save }: PlanFormProps) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const { draft, set, text, value, checked } = useFormValues(initial);
  const unit = useAmountUnitName();
  const number = (name: NumberName, label: string, more: Parameters<typeof NumberInput>[0] = {}) => (
    <NumberInput
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
