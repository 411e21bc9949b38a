import { Combobox, Group, InputBase, Text, useCombobox } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isChatPrice } from '../../../contract/pricing.ts';
import { useFormatPrice } from '../../components/credit-amount.tsx';
import type { UsableModel } from '../../data/model-queries.ts';

interface ModelPickerProps {
  readonly models: readonly UsableModel[];
  readonly value: string;
  readonly onChange: (model: UsableModel) => void;
}

/** All models by vendor, each with its price; those outside the plan are shown and cannot be selected. Searched by words. */
export function ModelPicker({ models, value, onChange }: ModelPickerProps) {
  const { t } = useTranslation('studio');
  const [search, setSearch] = useState('');
  const combobox = useCombobox({
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      setSearch('');
    },
    onDropdownOpen: () => combobox.focusSearchInput(),
  });
  const selected = models.find(({ id }) => id === value);
  const found = models.filter((model) => matchesSearch(model, search));
  const vendors = [...new Set(found.map(({ vendor_title }) => vendor_title))];
  const select = (id: string): void => {
    const model = models.find((each) => each.id === id);
    if (model !== undefined) onChange(model);
    combobox.closeDropdown();
  };
  return (
    <Combobox store={combobox} onOptionSubmit={select} withinPortal={false}>
      <Combobox.Target targetType="button">
        <InputBase
          component="button"
          type="button"
          pointer
          label={t('model')}
          aria-label={selected === undefined ? t('model') : `${t('model')}: ${modelLabel(selected)}`}
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          onClick={() => combobox.toggleDropdown()}
        >
          {selected === undefined ? t('modelPlaceholder') : modelLabel(selected)}
        </InputBase>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          aria-label={t('modelSearch')}
          placeholder={t('modelSearch')}
          value={search}
          onChange={(event) => {
            setSearch(event.currentTarget.value);
            combobox.selectFirstOption();
          }}
        />
        <Combobox.Options mah={340} style={{ overflowY: 'auto' }}>
          {vendors.map((vendor) => (
            <Combobox.Group key={vendor} label={vendor}>
              {found
                .filter(({ vendor_title }) => vendor_title === vendor)
                .map((model) => (
                  <ModelOption key={model.id} model={model} active={model.id === value} />
                ))}
            </Combobox.Group>
          ))}
          {found.length === 0 ? <Combobox.Empty>{t('noModelFound', { search })}</Combobox.Empty> : null}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

function ModelOption({ model, active }: { readonly model: UsableModel; readonly active: boolean }) {
  const { t } = useTranslation('studio');
  const formatPrice = useFormatPrice();
  const { price } = model;
  const rate = isChatPrice(price) ? undefined : price;
  const priceText =
    rate === undefined
      ? ''
      : (rate.per_second ?? 0) > 0
        ? t('perSecond', { price: formatPrice(rate.per_second ?? 0) })
        : t('perVideo', { price: formatPrice(rate.per_call ?? 0) });
  return (
    <Combobox.Option value={model.id} disabled={!model.permitted} active={active} aria-selected={active}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" truncate miw={0}>
          {modelLabel(model)}
        </Text>
        <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap', flexShrink: 0 }}>
          {model.permitted ? priceText : t('notInPlan')}
        </Text>
      </Group>
    </Combobox.Option>
  );
}

/** Whether every word of the search is in the vendor's name, the model's title or its id. */
export function matchesSearch(model: UsableModel, search: string): boolean {
  const text = `${model.vendor_title} ${modelLabel(model)} ${model.id}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The vendor's title of the model, with the id if it adds information, as for an alias. */
export function modelLabel({ id, capability }: UsableModel): string {
  if (capability === null) return id;
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return plain(capability.title) === plain(id) ? capability.title : `${capability.title} · ${id}`;
}
