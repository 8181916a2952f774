/**
 * The client's side of the contract for Java programs: commands arrive on stdin, events go to
 * stdout.
 *
 * <p>It needs only Java 17 and jackson-core, because a program is compiled together with these
 * sources, on the class path of the client that it wraps. A program supplies an {@link
 * verifiable.Adapter}, and {@link verifiable.Program#run} does the rest.
 */
package verifiable;
