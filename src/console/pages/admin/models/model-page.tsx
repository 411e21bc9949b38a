import {
  Anchor,
  Badge,
  Card,
  Group,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { EndpointPart } from '../../../../contract/endpoint.ts';
import { MODEL_KINDS, type ModelKind } from '../../../../contract/model-kinds.ts';
import {
  adminCreateModel,
  adminDeleteModel,
  adminUpdateModel,
  getModelRow,
  listModelRows,
  ON_RETIREMENT,
} from '../../../../contract/models.ts';
import { priceTokens } from '../../../../contract/pricing.ts';
import { useFormatPrice, useUnitPrice } from '../../../components/credit-amount.tsx';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { QueryError } from '../../../components/error-alert.tsx';
import { NumberField } from '../../../components/number-field.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { changedFields, SaveForm, useEditedVersion, useFormValues } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  dataQuery,
  listQuery,
  toModelUrlSegment,
  toVendorOptions,
  useInvalidateQueries,
  useVendors,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatCount, formatDuration, formatNames } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';
import {
  type AnyPrice,
  areConditionsComplete,
  examplePrice,
  type ModelFormValues,
  newModelFormValues,
  type PriceExample,
  parseMediaSchema,
  toModelBody,
  toModelFormValues,
  toPrice,
} from './model-form-values.ts';
import { PriceFields } from './price-fields.tsx';

/** Edits one model. */
export function ModelPage() {
  const { t } = useTranslation(['admin-channels', 'app']);
  const id = useRouteId();
  const { data: status } = useStatus();
  const model = useQuery(dataQuery(getModelRow, { params: { id: toModelUrlSegment(id) } }));
  if (model.data === undefined || status === undefined) {
    return model.error === null ? (
      <PageLoadingIndicator />
    ) : (
      <Page title={id} subtitle={<RouteLink to="/admin/models">{t('models.all')}</RouteLink>} size="sm">
        <QueryError query={model} />
      </Page>
    );
  }
  return <ModelDetails key={model.data.id} model={model.data} perUnit={status.quota_per_unit} />;
}

interface ModelDetailsProps {
  readonly model: EndpointPart<typeof getModelRow, 'response'>['data'];
  readonly perUnit: number;
}

function ModelDetails({ model: known, perUnit }: ModelDetailsProps) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const { version, onEdit, onSaved } = useEditedVersion(known);
  const initial = toModelFormValues(version, perUnit);
  return (
    <Page
      title={known.id}
      subtitle={<RouteLink to="/admin/models">{t('models.all')}</RouteLink>}
      size="sm"
      actions={
        <Group gap={6}>
          <Badge color={known.enabled ? 'teal' : 'gray'}>{t(known.enabled ? 'states.on' : 'states.off')}</Badge>
          <RouteLink to="/admin/channels" search={{ model: known.id }} size="sm">
            {t('models.channelCount', { count: known.channels })}
          </RouteLink>
        </Group>
      }
    >
      <Stack>
        <Card p={{ base: 'md', sm: 'xl' }}>
          <ModelForm
            key={version.updated_time}
            initial={initial}
            isNew={false}
            submitLabel={t('app:save')}
            onEdit={onEdit}
            save={async (draft) => {
              const body = changedFields(toModelBody(draft, perUnit), toModelBody(initial, perUnit));
              await callApi(adminUpdateModel, { params: { id: toModelUrlSegment(known.id) }, body });
              await invalidate();
              onSaved();
              toasts.success(t('app:saved'));
            }}
          />
        </Card>
        <DeleteModel id={known.id} />
      </Stack>
    </Page>
  );
}

function DeleteModel({ id: name }: { readonly id: string }) {
  const { t } = useTranslation('admin-channels');
  return (
    <DeletePanel
      heading={t('models.remove')}
      title={t('models.removeTitle', { name })}
      text={t('models.removeText')}
      confirmLabel={t('models.removeAction', { name })}
      remove={() => callApi(adminDeleteModel, { params: { id: toModelUrlSegment(name) } })}
      message={t('models.removed', { name })}
      listPage="/admin/models"
    />
  );
}

/** Adds a model to the catalogue. */
export function NewModelPage() {
  const { t } = useTranslation('admin-channels');
  const { data: status } = useStatus();
  const [vendor] = useVendors();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const navigate = useNavigate();
  return (
    <Page title={t('models.make')} subtitle={<RouteLink to="/admin/models">{t('models.all')}</RouteLink>} size="sm">
      {status === undefined || vendor === undefined ? null : (
        <Card p={{ base: 'md', sm: 'xl' }}>
          <ModelForm
            initial={newModelFormValues(vendor.name, status.quota_per_unit)}
            isNew
            submitLabel={t('models.make')}
            save={async (draft) => {
              const { id, ...rest } = toModelBody(draft, status.quota_per_unit);
              const { price, ...body } = rest;
              await callApi(adminCreateModel, { body: { id, ...body, price: price ?? undefined } });
              await invalidate();
              toasts.success(t('models.made', { name: id }));
              await navigate({ to: '/admin/models' });
            }}
          />
        </Card>
      )}
    </Page>
  );
}

interface ModelFormProps {
  readonly initial: ModelFormValues;
  readonly isNew: boolean;
  readonly submitLabel: string;
  readonly onEdit?: () => void;
  readonly save: (draft: ModelFormValues) => Promise<void>;
}

/** All settings of a model. */
function ModelForm({ initial, isNew, submitLabel, onEdit, save }: ModelFormProps) {
  const { t } = useTranslation('admin-channels');
  const perUnit = useStatus().data?.quota_per_unit ?? 1;
  const vendors = useVendors();
  const { draft, set, text, checked } = useFormValues(initial, onEdit);
  const inherits = draft.aliasOf !== '' && !draft.ownPrice;
  return (
    <SaveForm
      submitLabel={submitLabel}
      save={() => save(draft)}
      disabled={!parseMediaSchema(draft.schema).ok || !isReadable(draft)}
    >
      <TextInput
        label={t('models.name')}
        description={t(isNew ? 'models.nameHint' : 'models.nameFixed')}
        pattern="[A-Za-z0-9][A-Za-z0-9._:@\/\-]{0,199}"
        required
        readOnly={!isNew}
        spellCheck={false}
        {...text('id')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Select
          label={t('channels.vendor')}
          data={toVendorOptions(vendors)}
          value={draft.vendor}
          onChange={(vendor) => set({ vendor: vendor ?? draft.vendor })}
          allowDeselect={false}
        />
        <div>
          <Text size="sm" fw={600} mb={1} id="model-kind">
            {t('models.kind')}
          </Text>
          <SegmentedControl
            fullWidth
            aria-labelledby="model-kind"
            value={draft.kind}
            onChange={(kind) => set({ kind: kind as ModelKind })}
            data={MODEL_KINDS.map((value) => ({ value, label: t(`kinds.${value}`) }))}
          />
        </div>
      </SimpleGrid>
      <AliasField draft={draft} onChange={set} />
      <Title order={2} mt="xs">
        {t('price.title')}
      </Title>
      {draft.aliasOf === '' ? null : (
        <Switch
          label={t('price.own')}
          description={t('price.ownHint', { name: draft.aliasOf })}
          {...checked('ownPrice')}
        />
      )}
      {inherits ? null : (
        <>
          <PriceFields kind={draft.kind} draft={draft.price} onChange={(price) => set({ price })} />
          <PricePreview kind={draft.kind} price={toPrice(draft.price, draft.kind, perUnit)} />
          <ListedPrice vendor={draft.vendor} id={draft.aliasOf || draft.id} />
        </>
      )}
      {draft.kind === 'video' ? <MediaSchemaEditor text={draft.schema} onChange={(schema) => set({ schema })} /> : null}
      <Select
        label={t('models.onRetirement')}
        description={t('models.onRetirementHint')}
        data={ON_RETIREMENT.map((value) => ({ value, label: t(`models.retirement.${value}`) }))}
        value={draft.onRetirement}
        onChange={(value) => set({ onRetirement: value === 'substitute' ? 'substitute' : 'refuse' })}
        allowDeselect={false}
      />
      <Switch label={t('models.enabled')} description={t('models.enabledHint')} {...checked('enabled')} />
    </SaveForm>
  );
}

const isReadable = ({ price }: ModelFormValues): boolean => !price.isLined || areConditionsComplete(price.lines);

/**
 * Selects the model that serves this name, of the same vendor and kind; searched on the server, since there may be
 * many.
 */
function AliasField({
  draft,
  onChange,
}: {
  draft: ModelFormValues;
  onChange: (part: Partial<ModelFormValues>) => void;
}) {
  const { t } = useTranslation('admin-channels');
  const [text, setText] = useState('');
  const part = text === draft.aliasOf ? '' : text;
  const found = useQuery(
    listQuery(listModelRows, { vendor: draft.vendor, kind: draft.kind, q: part, page_size: '50' }),
  );
  const names = (found.data?.data ?? [])
    .filter(({ id, alias_of: target }) => target === null && id !== draft.id)
    .map(({ id }) => id);
  return (
    <Select
      label={t('models.alias')}
      description={t('models.aliasHint')}
      placeholder={t('models.noAlias')}
      data={[...new Set([...names, ...(draft.aliasOf === '' ? [] : [draft.aliasOf])])]}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('models.noAlias') }}
      searchValue={text}
      onSearchChange={setText}
      nothingFoundMessage={t('models.noneFound')}
      value={draft.aliasOf === '' ? null : draft.aliasOf}
      onChange={(aliasOf) => onChange({ aliasOf: aliasOf ?? '' })}
    />
  );
}

const EXAMPLE_SCHEMA = {
  type: 'object',
  properties: {
    camera: { type: 'string', enum: ['static', 'orbit'], default: 'static', 'x-upstream': 'camera_control' },
  },
};

/** The media schema as text. JSON syntax errors are shown immediately; the service validates the content. */
function MediaSchemaEditor({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const { t } = useTranslation('admin-channels');
  const read = parseMediaSchema(text);
  return (
    <div>
      <Textarea
        label={t('schema.label')}
        description={t('schema.hint')}
        placeholder={t('schema.placeholder')}
        autosize
        minRows={4}
        maxRows={20}
        spellCheck={false}
        value={text}
        error={read.ok ? undefined : read.line === undefined ? t('schema.noObject') : t('schema.wrongAt', { ...read })}
        onChange={(event) => onChange(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      />
      <Group gap="md" mt={4}>
        {read.ok && read.schema !== null ? (
          <Anchor
            component="button"
            type="button"
            size="xs"
            onClick={() => onChange(JSON.stringify(read.schema, null, 2))}
          >
            {t('schema.tidy')}
          </Anchor>
        ) : null}
        {text.trim() === '' ? (
          <Anchor
            component="button"
            type="button"
            size="xs"
            onClick={() => onChange(JSON.stringify(EXAMPLE_SCHEMA, null, 2))}
          >
            {t('schema.example')}
          </Anchor>
        ) : null}
        {read.ok && read.schema !== null ? (
          <Text size="xs" c="dimmed">
            {t('schema.arguments', { names: formatNames(read.names) || '–' })}
          </Text>
        ) : null}
      </Group>
    </div>
  );
}

/** Facts in the price's conditions, with their values; seconds have a field of their own, counts are 0. */
function choicesOf(price: AnyPrice): Readonly<Record<string, readonly string[]>> {
  const choices = new Map<string, Set<string>>();
  const named = [
    ...Object.entries(price.multipliers ?? {}).map(([factor, values]) => [factor, Object.keys(values)] as const),
    ...(price.lines ?? []).flatMap(({ when }) =>
      Object.entries(when ?? {}).map(([fact, values]) => [fact, values.map(String)] as const),
    ),
  ];
  for (const [fact, values] of named)
    if (fact !== 'seconds' && fact !== 'units' && fact !== 'input_images' && fact !== 'input_seconds')
      choices.set(fact, new Set([...(choices.get(fact) ?? []), ...values]));
  return Object.fromEntries([...choices].map(([fact, values]) => [fact, [...values]]));
}

/** Initial facts of the preview: those of the price's first line. */
const firstLineFacts = ({ lines = [] }: AnyPrice): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(lines[0]?.when ?? {}).flatMap(([fact, [first]]) =>
      first === undefined ? [] : [[fact, String(first)]],
    ),
  );

/** A formula such as `(0.10 + 0.056 × 5 s) × 2`. */
function toFormula(
  { terms, times }: PriceExample,
  formatRate: (quota: number) => string,
  formatUnits: (count: number) => string,
): string {
  const shown = terms.map(({ label, quantity, unitQuota, per }) => {
    const rate = formatRate(unitQuota / per);
    if (label === 'per_second') return `${rate} × ${formatDuration(quantity)}`;
    return label === 'per_unit' ? `${rate} × ${formatUnits(quantity)}` : rate;
  });
  const sum = shown.length === 0 ? formatRate(0) : shown.join(' + ');
  return [times.length > 0 && shown.length > 1 ? `(${sum})` : sum, ...times].join(' × ');
}

/** Where the initial price of a known model comes from, and whether a page of the vendor confirms it. */
function ListedPrice({ vendor, id }: { readonly vendor: string; readonly id: string }) {
  const { t } = useTranslation('admin-channels');
  const listed = useVendors()
    .find(({ name }) => name === vendor)
    ?.models.find((model) => model.id === id)?.price_source;
  if (listed == null) return null;
  const { source, confirmed_on: day, note } = listed;
  return (
    <Text size="xs" c="dimmed" data-confirmed={day !== null}>
      {day === null ? <strong>{t('price.unconfirmed')}</strong> : t('price.confirmed', { day })}{' '}
      <Anchor href={source} target="_blank" rel="noreferrer" size="xs" style={{ overflowWrap: 'anywhere' }}>
        {t('price.list')}
      </Anchor>
      {note === '' ? null : (
        <>
          {' · '}
          {note}
        </>
      )}
    </Text>
  );
}

interface PricePreviewProps {
  readonly kind: ModelKind;
  readonly price: AnyPrice;
}

const INPUT_TOKENS = 2_000;
const OUTPUT_TOKENS = 500;

/** The price worked out for one call, so that an extra zero is noticed before a user pays it. */
function PricePreview({ kind, price }: PricePreviewProps) {
  const { t } = useTranslation('admin-channels');
  return (
    <Paper p="sm" bg="var(--mantine-color-default-hover)" radius="md">
      <Text size="xs" c="dimmed" mb={6}>
        {t('price.example')}
      </Text>
      {kind === 'chat' ? <ChatPricePreview price={price} /> : <VideoPricePreview kind={kind} price={price} />}
    </Paper>
  );
}

function ChatPricePreview({ price }: { readonly price: AnyPrice }) {
  const { t } = useTranslation('admin-channels');
  const quota = useFormatPrice();
  const tokens = { promptTokens: INPUT_TOKENS, completionTokens: OUTPUT_TOKENS };
  const sum = priceTokens(price, tokens).quota;
  return (
    <Text size="sm">
      {t('price.chatExample', {
        input: formatCount(INPUT_TOKENS),
        output: formatCount(OUTPUT_TOKENS),
        price: quota(sum),
      })}
    </Text>
  );
}

function VideoPricePreview({ kind, price }: PricePreviewProps) {
  const { t } = useTranslation('admin-channels');
  const quota = useFormatPrice();
  const rate = useUnitPrice({ plain: true });
  const [seconds, setSeconds] = useState<number | string>(5);
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const length = kind === 'image' ? 0 : Number(seconds);
  const factors = { ...firstLineFacts(price), ...chosen };
  const example = examplePrice(price, length, factors);
  return (
    <>
      <Group gap="xs" align="flex-end">
        {kind === 'image' ? null : (
          <NumberField
            size="xs"
            w={90}
            label={t('price.seconds')}
            min={1}
            max={3600}
            allowDecimal={false}
            value={seconds}
            onChange={setSeconds}
          />
        )}
        {Object.entries(choicesOf(price)).map(([factor, values]) => (
          <Select
            key={factor}
            size="xs"
            w={120}
            label={t(`price.facts.${factor as 'mode'}`, { defaultValue: factor })}
            placeholder={t('price.plain')}
            data={[...values]}
            value={factors[factor] || null}
            onChange={(value) => setChosen((known) => ({ ...known, [factor]: value ?? '' }))}
            clearable
            clearButtonProps={{ 'aria-label': t('price.plain') }}
          />
        ))}
      </Group>
      <Text size="sm" mt="xs" role="status" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {example === undefined ? (
          t('price.noLineFits')
        ) : (
          <>
            {toFormula(example, rate, (count) => t('price.units', { count }))} = <strong>{quota(example.quota)}</strong>
          </>
        )}
      </Text>
    </>
  );
}
