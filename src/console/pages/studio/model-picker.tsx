import { Group, Select, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/models.ts';
import { useQuota } from '../../parts/quota.tsx';

interface ModelPickerProps {
  readonly models: readonly UsableModel[];
  readonly value: string;
  readonly onChange: (model: UsableModel) => void;
}

/** All models by vendor, each with what it costs; those outside the plan are shown and cannot be taken. */
export function ModelPicker({ models, value, onChange }: ModelPickerProps) {
  const { t } = useTranslation('studio');
  const quota = useQuota();
  const byId = new Map(models.map((model) => [model.id, model]));
  const vendors = [...new Set(models.map(({ vendor_title }) => vendor_title))];
  const priceOf = ({ price }: UsableModel): string => {
    if (!('per_second' in price || 'per_call' in price)) return '';
    return (price.per_second ?? 0) > 0
      ? t('perSecond', { price: quota(price.per_second ?? 0) })
      : t('perVideo', { price: quota(price.per_call ?? 0) });
  };
  return (
    <Select
      label={t('model')}
      placeholder={t('modelPlaceholder')}
      searchable
      allowDeselect={false}
      maxDropdownHeight={380}
      nothingFoundMessage="–"
      value={value === '' ? null : value}
      onChange={(id) => {
        const model = byId.get(id ?? '');
        if (model !== undefined) onChange(model);
      }}
      data={vendors.map((group) => ({
        group,
        items: models
          .filter(({ vendor_title }) => vendor_title === group)
          .map((model) => ({ value: model.id, label: titleOf(model), disabled: !model.permitted })),
      }))}
      renderOption={({ option }) => {
        const model = byId.get(option.value);
        return (
          <Group justify="space-between" wrap="nowrap" gap="xs" w="100%">
            <Text size="sm" truncate>
              {option.label}
            </Text>
            <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
              {model === undefined ? '' : model.permitted ? priceOf(model) : t('notInPlan')}
            </Text>
          </Group>
        );
      }}
    />
  );
}

/** The vendor's name for it, with the id where that says more (an alias). */
export function titleOf({ id, capability }: UsableModel): string {
  if (capability === null) return id;
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return plain(capability.title) === plain(id) ? capability.title : `${capability.title} · ${id}`;
}
