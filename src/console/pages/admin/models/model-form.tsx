import { Select, SimpleGrid, Switch, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MODEL_KINDS, type ModelKind } from '../../../../contract/model-kinds.ts';
import { listModelRows, ON_RETIREMENT } from '../../../../contract/models.ts';
import { SaveForm } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import { listQuery } from '../../../data/query-any-admin-endpoint.ts';
import { useStatus } from '../../../data/signed-in-user-and-site-queries.ts';
import { toVendorOptions, useVendors } from '../../../data/vendor-queries.ts';
import { MediaSchemaEditor } from './media-schema-editor.tsx';
import type { ModelFormValues } from './model-form-values.ts';
import { parseMediaSchema } from './parse-media-schema.ts';
import { PriceFields } from './price-fields.tsx';
import { toPrice } from './price-form-values.ts';
import { areLinesReadable } from './price-line-form-values.ts';
import { PricePreview } from './price-preview.tsx';

interface ModelFormProps {
  readonly initial: ModelFormValues;
  readonly isNew: boolean;
  readonly submitLabel: string;
  readonly save: (draft: ModelFormValues) => Promise<void>;
}

export function ModelForm({ initial, isNew, submitLabel, save }: ModelFormProps) {
  const { t } = useTranslation(['admin-models', 'admin-channels']);
  const perUnit = useStatus().data?.quota_per_unit ?? 1;
  const vendors = useVendors();
  const { draft, set, text, checked } = useFormValues(initial);
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
          label={t('admin-channels:channels.vendor')}
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

const isReadable = ({ price }: ModelFormValues): boolean => !price.isLined || areLinesReadable(price.lines);

/** The model that serves this name, of the same vendor and kind; searched on the server, since there may be many. */
function AliasField({
  draft,
  onChange,
}: {
  draft: ModelFormValues;
  onChange: (part: Partial<ModelFormValues>) => void;
}) {
  const { t } = useTranslation('admin-models');
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
