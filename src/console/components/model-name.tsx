import type { ComboboxItem, OptionsFilter } from '@mantine/core';
import { modelTitle, type UsableModel, useModelTitle } from '../data/self.ts';

/** Title of a model, with the id by which programs call it. */
export function ModelName({ id }: { readonly id: string }) {
  const titleOf = useModelTitle();
  return <span title={id}>{titleOf(id)}</span>;
}

/** The model a call named and, where it differs, the one that served it: an upstream's own name. */
export function ServedModel({ id, served }: { readonly id: string; readonly served: string }) {
  return (
    <>
      <ModelName id={id} />
      {served === '' || served === id ? null : ` → ${served}`}
    </>
  );
}

/** Models as options of a select. */
export const toModelOptions = (models: readonly UsableModel[]): ComboboxItem[] =>
  models.map((model) => ({ value: model.id, label: modelTitle(model) }));

/** Finds options by their label or, as programmers know them, by their value. */
export const byLabelOrValue: OptionsFilter = ({ options, search }) => {
  const words = search.trim().toLowerCase();
  return (options as ComboboxItem[]).filter(({ value, label }) => `${label} ${value}`.toLowerCase().includes(words));
};
