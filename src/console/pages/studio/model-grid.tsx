import { Combobox, Group, Stack, Text, TextInput, useCombobox } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../../components/dialog.tsx';
import type { UsableModel } from '../../data/usable-models-query.ts';
import type { Draft } from './draft-type-and-fit-to-model.ts';
import { type FavouriteAndRecentModels, readFavouriteAndRecentModels } from './favourite-and-recent-models.ts';
import { modelLabel } from './model-label.ts';
import { ModelOption } from './model-option.tsx';

interface ModelGridProps {
  readonly title: string;
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly selected: readonly string[];
  readonly onSelect: (model: UsableModel) => void;
  readonly onClose: () => void;
}

/** All models, the favourites and those used last before the others by vendor, each with its price for the present settings and how long it takes; searched by words. */
export default function ModelGrid({ title, models, draft, selected, onSelect, onClose }: ModelGridProps) {
  const { t } = useTranslation('studio');
  const [search, setSearch] = useState('');
  const [marks] = useState(readFavouriteAndRecentModels);
  // Always open; Escape, which would close it, closes the dialog.
  const combobox = useCombobox({ opened: true, onOpenedChange: (opened) => (opened ? undefined : onClose()) });
  const found = models.filter((model) => matchesSearch(model, search));
  const groups = groupModels(found, marks, { favourites: t('favourites'), recent: t('recent') });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first of what was found can be taken with Enter
  useEffect(() => {
    if (search === '') combobox.resetSelectedOption();
    else combobox.selectFirstOption();
  }, [search]);
  const select = (id: string): void => {
    const model = models.find((each) => each.id === id);
    if (model !== undefined) onSelect(model);
  };
  return (
    <Dialog onClose={onClose} title={title} size={1040}>
      <Combobox store={combobox} onOptionSubmit={select}>
        <Stack gap="sm">
          <Combobox.EventsTarget>
            <TextInput
              data-autofocus
              aria-label={t('modelSearch')}
              placeholder={t('modelSearch')}
              leftSection={<IconSearch size={16} />}
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
            />
          </Combobox.EventsTarget>
          <Combobox.Options className="model-grid" aria-label={title} tabIndex={0}>
            {groups.map(({ label, members }) => (
              <Combobox.Group key={label} label={label}>
                {members.map((model) => (
                  <ModelOption key={model.id} model={model} draft={draft} active={selected.includes(model.id)} />
                ))}
              </Combobox.Group>
            ))}
            {found.length === 0 ? <Combobox.Empty>{t('noModelFound', { search })}</Combobox.Empty> : null}
          </Combobox.Options>
          <Group>
            <Text size="xs" c="dimmed">
              {t('modelPriceHint')}
            </Text>
          </Group>
        </Stack>
      </Combobox>
    </Dialog>
  );
}

interface ModelGroup {
  readonly label: string;
  readonly members: readonly UsableModel[];
}

/** Favourites and the models used last before those of each vendor; each model is in one group. */
function groupModels(
  models: readonly UsableModel[],
  marks: FavouriteAndRecentModels,
  labels: { readonly favourites: string; readonly recent: string },
): readonly ModelGroup[] {
  const pick = (ids: readonly string[]) => ids.flatMap((id) => models.find((model) => model.id === id) ?? []);
  const favourites = pick(marks.favourites);
  const recent = pick(marks.recent.filter((id) => !marks.favourites.includes(id)));
  const others = models.filter((model) => !favourites.includes(model) && !recent.includes(model));
  const vendors = [...new Set(others.map(({ vendor_title }) => vendor_title))];
  return [
    { label: labels.favourites, members: favourites },
    { label: labels.recent, members: recent },
    ...vendors.map((vendor) => ({
      label: vendor,
      members: others.filter(({ vendor_title }) => vendor_title === vendor),
    })),
  ].filter(({ members }) => members.length > 0);
}

/** Whether every word of the search is in the vendor's name, the model's title or its id. */
function matchesSearch(model: UsableModel, search: string): boolean {
  const text = `${model.vendor_title} ${modelLabel(model)} ${model.id}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
