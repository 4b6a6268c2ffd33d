/** Why a tile makes no kernel on a chip, in words. */

import type { Misfit } from '../count/kernel';
import { capacity } from '../words/numbers';
import { t } from '../words/words';

export function misfitText({ misfit, given }: Misfit): string {
  const bytes = misfit === 'shared' || misfit === 'registers';
  const said = bytes ? Object.fromEntries(Object.entries(given).map(([k, v]) => [k, capacity(Number(v))])) : given;
  return given['chip'] === 'own' ? t('misfit.own', said) : t(`misfit.${misfit}`, said);
}
