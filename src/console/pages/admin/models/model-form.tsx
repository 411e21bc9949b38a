import {
  Button,
  Group,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listModelRows } from '../../../../contract/model-catalog.ts';
import { MODEL_KINDS, type ModelKind } from '../../../../contract/models.ts';
import { listQuery } from '../../../data/admin.ts';
import { useStatus } from '../../../data/queries.ts';
import { Failure } from '../../../parts/failure.tsx';
import { type ChannelVendor, VENDOR_CHOICES } from '../channels/vendors.ts';
import type { ModelDraft } from './model-draft.ts';
import { toPrice } from './price-draft.ts';
import { PriceExample } from './price-example.tsx';
import { PriceFields } from './price-fields.tsx';
import { SchemaField } from './schema-field.tsx';
import { readSchema } from './schema-text.ts';

interface ModelFormProps {
  readonly start: ModelDraft;
  readonly isNew: boolean;
  readonly action: string;
  readonly save: (draft: ModelDraft) => Promise<void>;
}

export function ModelForm({ start, isNew, action, save }: ModelFormProps) {
  const { t } = useTranslation(['upstreams', 'shell']);
  const perUnit = useStatus().data?.quota_per_unit ?? 1;
  const [draft, setDraft] = useState(start);
  const set = (part: Partial<ModelDraft>): void => setDraft((known) => ({ ...known, ...part }));
  const sending = useMutation({ mutationFn: () => save(draft) });
  const inherits = draft.aliasOf !== '' && !draft.ownPrice;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        sending.mutate();
      }}
    >
      <Stack>
        <TextInput
          label={t('models.name')}
          description={t(isNew ? 'models.nameHint' : 'models.nameFixed')}
          pattern="[A-Za-z0-9][A-Za-z0-9._:@\/\-]{0,199}"
          required
          readOnly={!isNew}
          spellCheck={false}
          value={draft.id}
          onChange={(event) => set({ id: event.currentTarget.value })}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Select
            label={t('channels.vendor')}
            data={VENDOR_CHOICES}
            value={draft.vendor}
            onChange={(vendor) => set({ vendor: (vendor ?? draft.vendor) as ChannelVendor })}
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
            checked={draft.ownPrice}
            onChange={(event) => set({ ownPrice: event.currentTarget.checked })}
          />
        )}
        {inherits ? null : (
          <>
            <PriceFields kind={draft.kind} draft={draft.price} onChange={(price) => set({ price })} />
            <PriceExample kind={draft.kind} price={toPrice(draft.price, draft.kind, perUnit)} perUnit={perUnit} />
          </>
        )}
        {draft.kind === 'video' ? <SchemaField text={draft.schema} onChange={(schema) => set({ schema })} /> : null}
        <Switch
          label={t('models.enabled')}
          description={t('models.enabledHint')}
          checked={draft.enabled}
          onChange={(event) => set({ enabled: event.currentTarget.checked })}
        />
        <Failure error={sending.error} />
        <Group justify="flex-end">
          <Button type="submit" loading={sending.isPending} disabled={!readSchema(draft.schema).ok}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The model that serves this name, of the same vendor and kind; looked for on the server, since there may be many. */
function AliasField({ draft, onChange }: { draft: ModelDraft; onChange: (part: Partial<ModelDraft>) => void }) {
  const { t } = useTranslation('upstreams');
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
