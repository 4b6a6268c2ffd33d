import { expect, test } from 'vitest';
import { CHIPS } from '../../data/chips';
import { UNITS } from '../../count/fused';
import * as units from '../precision/italian';
import { italian, KNOWN, PATTERNS } from './italian';

const notes = CHIPS.flatMap((chip) => [...chip.notes, ...chip.figures.map(({ note }) => note)]).filter(Boolean);
const sources = CHIPS.flatMap((chip) => chip.figures.map(({ source }) => source));

/** What tells of a source rather than naming it. */
const SENTENCE =
  /\b(computed|measured|measurements|public|a device query|as the driver|it prints|it compares|printed)\b/;
const numbers = (text: string) => [...text.matchAll(/\d+/g)].map(([digits]) => digits).sort();

test('every note of every chip, and every source that is no title, is in Italian', () => {
  expect([...new Set(notes)].filter((note) => italian(note) === null)).toEqual([]);
  expect([...new Set(sources)].filter((source) => SENTENCE.test(source) && italian(source) === null)).toEqual([]);
});

test('a translation has the numbers of what it translates, and none is of a text that is gone', () => {
  const said = [...new Set([...notes, ...sources])];
  for (const text of said) {
    const found = italian(text);
    if (found === null) continue;
    expect(numbers(found), text).toEqual(numbers(text));
    expect(found, text).not.toMatch(/#|undefined/);
  }
  expect(KNOWN.filter((text) => !said.includes(text))).toEqual([]);
  const shapes = new Set(said.map((text) => text.replace(/\d[\d,]*(?:\.\d+)?/g, '#')));
  const dead = PATTERNS.map(([english]) => english.replace(/\d[\d,]*(?:\.\d+)?/g, '#'));
  expect(dead.filter((shape) => !shapes.has(shape))).toEqual([]);
});

test('numbers are written as Italian writes them', () => {
  expect(italian('108 SMs x 128 B a clock (32 banks of 4 B) x 1.41 GHz')).toBe(
    '108 SM x 128 B per ciclo (32 banchi da 4 B) x 1,41 GHz',
  );
  expect(italian('5,120 bits of HBM2 at 1,215 MHz')).toBe('5.120 bit di HBM2 a 1.215 MHz');
});

test('what the precision section says of a unit is in Italian too, with the same numbers', () => {
  for (const { about, silicon } of Object.values(UNITS)) {
    for (const text of [about, silicon].filter(Boolean)) {
      const found = units.italian(text);
      if (found === null)
        expect(text).toMatch(/^[a-z0-9.:_ ]+$/); // names of instructions alone
      else expect(numbers(found), text).toEqual(numbers(text));
    }
  }
});
